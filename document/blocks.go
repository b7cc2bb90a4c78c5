package document

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Markdown is read by its blocks alone. What stands inside a line is taken as it is written: names and values are looked for in
// it, and reading emphasis and links would take time that grows with the square of a line's length. Setext headings are
// left out, so that a rule under a paragraph is no node.
func markdown(source string) ast.Node {
	p := parser.NewParser(parser.WithBlockParsers(
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	))
	return p.Parse(text.NewReader([]byte(source)))
}

// part is a file or one of its ## nodes: what stands before its first section, and its sections.
type part struct {
	name     string // of the ## heading
	pos      Pos
	title    string // of the # heading
	intro    string
	blocks   []ast.Node
	sections []*section
}

// section is what stands under a ### heading.
type section struct {
	Section
	key    string // the title in lower case
	blocks []ast.Node
	from   int // where its text begins
}

func (p *part) section(keys ...string) *section {
	for _, key := range keys {
		for _, s := range p.sections {
			if s.key == key {
				return s
			}
		}
	}
	return nil
}

// parts cuts a file into the file itself and its nodes. The front matter is blank in source.
func (r *reading) parts(source string) []*part {
	current := &part{}
	parts := []*part{current}
	var open *section
	from := 0
	closeAt := func(end int) {
		body := strings.Trim(trimRight(r.text[min(from, end):end]), "\n")
		if open != nil {
			open.Text = body
		} else if current.intro == "" {
			current.intro = strings.TrimSpace(blankFrom(source, from, end))
		}
	}
	for node := markdown(source).FirstChild(); node != nil; node = node.NextSibling() {
		heading, ok := node.(*ast.Heading)
		if !ok || heading.Level > 3 {
			if open != nil {
				open.blocks = append(open.blocks, node)
			} else {
				current.blocks = append(current.blocks, node)
			}
			continue
		}
		start, end := r.lineAround(heading.Pos())
		closeAt(start)
		from = end
		title := r.headingText(heading)
		switch heading.Level {
		case 1:
			open = nil
			if current.title == "" {
				current.title = title
			}
		case 2:
			open = nil
			current = &part{name: strings.Trim(title, "`"), pos: r.pos(heading.Pos())}
			parts = append(parts, current)
		case 3:
			open = &section{Section: Section{Title: title, Pos: r.pos(heading.Pos())}, key: strings.ToLower(title), from: from}
			current.sections = append(current.sections, open)
		}
	}
	closeAt(len(r.text))
	return parts
}

// blankFrom returns a piece of the source, which has the front matter blank.
func blankFrom(source string, from, end int) string { return source[min(from, end):end] }

// lineAround returns where the line of an offset starts, and where the next one does.
func (r *reading) lineAround(offset int) (start, end int) {
	offset = min(max(offset, 0), len(r.text))
	start = strings.LastIndexByte(r.text[:offset], '\n') + 1
	if i := strings.IndexByte(r.text[offset:], '\n'); i >= 0 {
		return start, offset + i + 1
	}
	return start, len(r.text)
}

func (r *reading) headingText(heading *ast.Heading) string {
	if heading.Lines().Len() == 0 {
		return ""
	}
	segment := heading.Lines().At(0)
	return strings.TrimSpace(r.text[segment.Start:segment.Stop])
}

// line is one line of a block: its text without white space around it, and its place.
type line struct {
	text string
	pos  Pos
}

// item is an item of a list: its lines, and the items of the lists in it.
type item struct {
	lines []line
	items []item
	pos   Pos
}

// head is the first line of an item.
func (i item) head() line {
	if len(i.lines) == 0 {
		return line{pos: i.pos}
	}
	return i.lines[0]
}

// whole is the text of an item's own lines in one line.
func (i item) whole() line {
	texts := make([]string, len(i.lines))
	for n, l := range i.lines {
		texts[n] = l.text
	}
	return line{text: strings.Join(texts, " "), pos: i.head().pos}
}

// all is the text of an item with that of its nested items, a line each.
func (i item) all() string {
	var b strings.Builder
	i.write(&b, "")
	return b.String()
}

func (i item) write(b *strings.Builder, indent string) {
	b.WriteString(i.whole().text)
	for _, child := range i.items {
		b.WriteString("\n" + indent + "- ")
		child.write(b, indent+"  ")
	}
}

// items returns the items of the lists among blocks.
func (r *reading) items(blocks []ast.Node) []item {
	var found []item
	for _, block := range blocks {
		if list, ok := block.(*ast.List); ok {
			found = append(found, r.itemsOf(list)...)
		}
	}
	return found
}

func (r *reading) itemsOf(list *ast.List) []item {
	var found []item
	for node := list.FirstChild(); node != nil; node = node.NextSibling() {
		it := item{pos: r.pos(node.Pos())}
		for child := node.FirstChild(); child != nil; child = child.NextSibling() {
			switch child := child.(type) {
			case *ast.List:
				it.items = append(it.items, r.itemsOf(child)...)
			case *ast.TextBlock, *ast.Paragraph, *ast.CodeBlock:
				it.lines = append(it.lines, r.lines(child)...)
			}
		}
		found = append(found, it)
	}
	return found
}

// lines returns the lines of a block that are not blank.
func (r *reading) lines(block ast.Node) []line {
	var found []line
	for i := range block.Lines().Len() {
		segment := block.Lines().At(i)
		raw := r.text[segment.Start:segment.Stop]
		left := len(raw) - len(strings.TrimLeft(raw, " \t\n"))
		if trimmed := strings.TrimSpace(raw); trimmed != "" {
			found = append(found, line{trimmed, r.pos(segment.Start + left)})
		}
	}
	return found
}

// trimRight takes the white space off the end of each line.
func trimRight(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Join(lines, "\n")
}
