package top

import "unicode"

// maxTyped is how many letters a filter may have.
const maxTyped = 200

// press handles a key, given by its name or as the letter itself.
func (m *model) press(key string) {
	if key == "ctrl-c" {
		m.quit = true
		return
	}
	switch {
	case m.typing:
		m.typeFilter(key)
	case m.pressCommon(key):
	case m.page == pageHelp:
		m.page = pageTable
	case m.page == pageDetail:
		m.pressInDetail(key)
	default:
		m.pressInTable(key)
	}
}

// pressCommon handles keys that mean the same on all pages, and reports whether this was one.
func (m *model) pressCommon(key string) bool {
	switch key {
	case "q":
		m.quit = true
	case "p":
		m.paused = !m.paused
	case "+", "=":
		m.changeInterval(-1)
	case "-":
		m.changeInterval(1)
	case "?":
		if m.page == pageHelp {
			m.page = pageTable
		} else {
			m.page = pageHelp
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
		m.resetTable()
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
	m.selectFirst()
}

func (m *model) pressInTable(key string) {
	rows := m.rows()
	at, jump := m.cursor(rows), max(1, m.tableHeight()-1)
	switch key {
	case "w":
		m.sortBy(byWaiting)
		return
	case "h":
		m.sortBy(byAge)
		return
	case "n":
		m.sortBy(byName)
		return
	case "t":
		m.sortBy(byTTL)
		return
	case "/":
		m.typing, m.typed = true, []rune(m.view.filter)
		return
	case "esc":
		if m.view.filter != "" {
			m.view.filter = ""
			m.resetTable()
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
		m.selectFirst()
		return
	case "end", "G":
		at = len(rows) - 1
	case "enter":
		if len(rows) > 0 {
			m.openDetail(rows[at].Key)
		}
		return
	default:
		return
	}
	if len(rows) > 0 {
		m.selectedRow = max(0, min(at, len(rows)-1))
		m.selected = rows[m.selectedRow].Key
	}
}

func (m *model) pressInDetail(key string) {
	most := max(0, len(m.detailLines())-m.detailHeight())
	jump := max(1, m.detailHeight()-1)
	switch key {
	case "esc", "enter", "left", "backspace":
		m.page = pageTable
		m.restart(inspectOne) // a request in flight is of no use any more
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
