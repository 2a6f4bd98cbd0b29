//go:build unix

package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

var (
	image   = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	link    = regexp.MustCompile(`\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)`)
	comment = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
)

// topicPage makes a manual page of a document.
func (b book) topicPage(t topic, text string) string {
	text = comment.ReplaceAllString(text, "")
	title := t.page
	var body strings.Builder
	code := false
	var rows [][]string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if row := splitRow(t.withoutLinks(line, false)); row != nil && !code {
			rows = append(rows, row)
			continue
		}
		if rows != nil {
			body.WriteString(table(rows))
			rows = nil
		}
		switch {
		case code:
		case strings.HasPrefix(line, "# "):
			title = strings.TrimPrefix(line, "# ")
			line = "# DESCRIPTION"
		case strings.HasPrefix(line, "##"): // what follows NAME are sections of the page, not parts of one
			line = strings.TrimPrefix(line, "#")
			if strings.HasPrefix(line, "# ") {
				line = strings.ToUpper(line)
			}
		default:
			line = t.withoutLinks(line, true)
		}
		body.WriteString(line + "\n")
	}
	header := fmt.Sprintf("%% %q \"7\" %q \"leasehold %s\" \"leasehold\"\n# NAME\n%s - %s\n\n",
		strings.ToUpper(t.page), b.date, b.version, t.page, strings.ReplaceAll(title, "`", ""))
	page := string(md2man.Render([]byte(header + body.String())))
	return strings.Replace(page, "\n.SH NAME", "\n.ad l\n.SH NAME", 1) // ragged lines are easier to read
}

// withoutLinks replaces links by their texts. If cite is set, a link to another manual page is followed by its name.
func (t topic) withoutLinks(line string, cite bool) string {
	line = image.ReplaceAllString(line, "")
	return link.ReplaceAllStringFunc(line, func(all string) string {
		parts := link.FindStringSubmatch(all)
		text, target := parts[1], parts[2]
		if !cite {
			return text
		}
		if strings.Contains(target, "://") {
			return text + " (" + target + ")"
		}
		target, _, _ = strings.Cut(target, "#")
		for _, other := range topics {
			if target != "" && other != t && path.Join(path.Dir(t.document), target) == other.document {
				return text + " (**" + other.page + "**(7))"
			}
		}
		return text
	})
}
