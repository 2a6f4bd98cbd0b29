package top

import "unicode"

// maxTyped is how long a filter may be.
const maxTyped = 200

// press takes in a key, by its name or as the letter itself.
func (m *model) press(key string) {
	if key == "ctrl-c" {
		m.ended = true
		return
	}
	switch {
	case m.typing:
		m.typeFilter(key)
	case m.common(key):
	case m.page == help:
		m.page = table
	case m.page == one:
		m.pressInOne(key)
	default:
		m.pressInTable(key)
	}
}

// common takes in keys that mean the same everywhere, and reports whether this was one.
func (m *model) common(key string) bool {
	switch key {
	case "q":
		m.ended = true
	case "p":
		m.paused = !m.paused
	case "+", "=":
		m.pace(-1)
	case "-":
		m.pace(1)
	case "?":
		if m.page == help {
			m.page = table
		} else {
			m.page = help
		}
	default:
		return false
	}
	return true
}

func (m *model) typeFilter(key string) {
	switch key {
	case "enter":
		m.typing = false
		m.view.filter = string(m.typed)
		m.lookAgain()
	case "esc":
		m.typing = false
	case "backspace":
		m.typed = m.typed[:max(0, len(m.typed)-1)]
	case "ctrl-u":
		m.typed = nil
	default:
		if r := []rune(key); len(r) == 1 && unicode.IsPrint(r[0]) && len(m.typed) < maxTyped {
			m.typed = append(m.typed, r[0])
		}
	}
	m.top()
}

func (m *model) pressInTable(key string) {
	rows := m.rows()
	at, jump := m.cursor(rows), max(1, m.tableHeight()-1)
	switch key {
	case "w":
		m.sort(byWaiting)
		return
	case "h":
		m.sort(byAge)
		return
	case "n":
		m.sort(byName)
		return
	case "t":
		m.sort(byTTL)
		return
	case "/":
		m.typing, m.typed = true, []rune(m.view.filter)
		return
	case "esc":
		if m.view.filter != "" {
			m.view.filter = ""
			m.lookAgain()
		}
		return
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "pgup":
		at -= jump
	case "pgdn", " ":
		at += jump
	case "home", "g":
		m.top()
		return
	case "end", "G":
		at = len(rows) - 1
	case "enter":
		if len(rows) > 0 {
			m.open(rows[at].Key)
		}
		return
	default:
		return
	}
	if len(rows) > 0 {
		m.at = max(0, min(at, len(rows)-1))
		m.chosen = rows[m.at].Key
	}
}

func (m *model) pressInOne(key string) {
	most := max(0, len(m.detailLines())-m.detailHeight())
	jump := max(1, m.detailHeight()-1)
	switch key {
	case "esc", "enter", "left", "backspace":
		m.page = table
		m.restart(opening) // what is under way is of no use any more
	case "up", "k":
		m.scroll--
	case "down", "j":
		m.scroll++
	case "pgup":
		m.scroll -= jump
	case "pgdn", " ":
		m.scroll += jump
	case "home", "g":
		m.scroll = 0
	case "end", "G":
		m.scroll = most
	}
	m.scroll = max(0, min(m.scroll, most))
}
