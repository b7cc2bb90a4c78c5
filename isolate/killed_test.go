package isolate

const helperVariable = "FIRSTGOOD_ISOLATE_HELPER"

func helper(string) int { return 0 }
