package live

import (
	"os"
	"testing"
)

func TestDecide(t *testing.T) {
	type env map[string]string
	utf := env{"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}
	with := func(name, value string) env {
		e := env{name: value}
		for k, v := range utf {
			if _, set := e[k]; !set {
				e[k] = v
			}
		}
		return e
	}
	for _, tt := range []struct {
		name     string
		terminal bool
		goos     string
		env      env
		want     Screen
	}{
		{"a terminal", true, "linux", utf, Screen{Live: true, Color: true, Unicode: true}},
		{"a pipe", false, "linux", utf, Screen{Unicode: true}},
		{"TERM=dumb", true, "linux", with("TERM", "dumb"), Screen{Unicode: true}},
		{"no TERM", true, "linux", with("TERM", ""), Screen{Unicode: true}},
		{"NO_COLOR", true, "linux", with("NO_COLOR", "1"), Screen{Live: true, Unicode: true}},
		{"empty NO_COLOR", true, "linux", with("NO_COLOR", ""), Screen{Live: true, Color: true, Unicode: true}},
		{"LC_ALL wins", true, "linux", with("LC_ALL", "C"), Screen{Live: true, Color: true}},
		{"LC_CTYPE wins over LANG", true, "linux", with("LC_CTYPE", "POSIX"), Screen{Live: true, Color: true}},
		{"utf8 without a hyphen", true, "darwin", env{"TERM": "xterm", "LC_CTYPE": "C.utf8"}, Screen{Live: true, Color: true, Unicode: true}},
		{"no locale", true, "linux", env{"TERM": "xterm"}, Screen{Live: true, Color: true}},
		{"a Windows console", true, "windows", env{}, Screen{Live: true, Color: true}},
		{"Windows Terminal", true, "windows", env{"WT_SESSION": "1"}, Screen{Live: true, Color: true, Unicode: true}},
		{"a console without escapes", false, "windows", env{"WT_SESSION": "1"}, Screen{Unicode: true}},
	} {
		got := decide(tt.terminal, tt.goos, func(name string) string { return tt.env[name] })
		if got.Live != tt.want.Live || got.Color != tt.want.Color || got.Unicode != tt.want.Unicode {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestDetect_Pipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	screen := Detect(w, func(name string) string {
		return map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}[name]
	})
	if screen.Live || screen.Color || !screen.Unicode || screen.Size != nil {
		t.Errorf("got %+v, want plain lines", screen)
	}
}
