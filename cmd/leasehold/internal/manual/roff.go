//go:build unix

package main

import "strings"

// roff returns text as the programs that show manual pages take it literally.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// paragraphs returns a help text: paragraphs, in which lines that are indented stand as they are.
func paragraphs(text string) string {
	var p strings.Builder
	literal := false
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		if indented := strings.HasPrefix(line, " "); line != "" && indented != literal {
			literal = indented
			p.WriteString(map[bool]string{true: ".RS 2\n.nf\n", false: ".fi\n.RE\n"}[literal])
		}
		switch {
		case line == "" && literal:
			p.WriteString("\n")
		case line == "":
			p.WriteString(".PP\n")
		default:
			p.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
		}
	}
	if literal {
		p.WriteString(".fi\n.RE\n")
	}
	return p.String()
}
