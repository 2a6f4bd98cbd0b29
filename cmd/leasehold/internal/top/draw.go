package top

// draw computes the content of the screen. It does not change the model.
func (m *model) draw() frame {
	f := frame{x: -1, y: -1}
	if m.width < 1 || m.height < 1 {
		return f
	}
	if m.page == pageHelp {
		f.lines = m.helpLines()
	} else {
		f.lines = m.head()
		if m.page == pageDetail {
			f.lines = append(f.lines, m.detailBody()...)
		} else {
			f.lines = append(f.lines, m.tableBody()...)
		}
	}
	foot := m.foot()
	if body := max(0, m.height-len(foot)); len(f.lines) > body {
		f.lines = f.lines[:body]
	} else {
		for len(f.lines) < body {
			f.lines = append(f.lines, nil)
		}
	}
	f.lines = append(f.lines, foot...)
	if m.typing && len(f.lines) > 0 {
		f.y = len(f.lines) - 1
		f.x = min(m.width-1, cellsWidth(m.prompt().cells))
	}
	return f
}

// foot returns the last line.
func (m *model) foot() [][]cell {
	switch {
	case m.typing:
		return [][]cell{m.prompt().done()}
	case m.height < 8:
		return nil
	}
	l := m.line()
	say := func(key, what string) { l.also(strong, key).add(faint, " "+what) }
	say("q", "quit")
	switch m.page {
	case pageHelp:
		say("?", "back")
	case pageDetail:
		say("esc", "back")
		say("p", "pause")
	default:
		say("?", "help")
		say("enter", "open")
		say("/", "filter")
		say("w h n t", "sort")
		say("p", "pause")
		say("+ -", "pace")
	}
	return [][]cell{l.done()}
}

// prompt returns the line in which the filter is typed.
func (m *model) prompt() *line {
	shown := m.typed[max(0, len(m.typed)-max(1, m.width-12)):] // the end of it
	return m.line().add(strong, "filter: "+string(shown))
}
