package demo

import (
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// The JSON form. Its field names are part of the interface: fields may be added, none is renamed. Times are
// milliseconds since the beginning of a run.

// Document is the result of all cases.
type Document struct {
	Seed  uint64     `json:"seed"`
	Real  bool       `json:"real"`
	Cases []caseForm `json:"cases"`
}

type caseForm struct {
	Case    string   `json:"case"`
	Title   string   `json:"title"`
	Without sideForm `json:"without"`
	With    sideForm `json:"with"`
}

type sideForm struct {
	What     string     `json:"what"`
	TTL      millis     `json:"ttl_ms"`
	Lost     int        `json:"lost_updates"`
	Hung     int        `json:"hung"`
	Accepted int        `json:"accepted"`
	Refused  int        `json:"refused"`
	Value    int        `json:"value"`
	Lanes    []laneForm `json:"lanes"`
}

type laneForm struct {
	Name  string         `json:"name"`
	Kind  string         `json:"kind"`
	Spans []intervalForm `json:"spans"`
	Marks []pointForm    `json:"marks"`
}

type intervalForm struct {
	During string `json:"during"`
	From   millis `json:"from_ms"`
	To     millis `json:"to_ms"`
}

type pointForm struct {
	What   string `json:"what"`
	At     millis `json:"at_ms"`
	Text   string `json:"text"`
	Token  uint64 `json:"token,omitempty"`
	Newest uint64 `json:"newest,omitempty"`
}

// millis is a time in milliseconds, with microseconds as decimals.
type millis float64

func inMillis(d time.Duration) millis { return millis(d.Microseconds()) / 1000 }

// JSON returns the document to encode as JSON.
func JSON(seed uint64, real bool, figures []draw.Figure) Document {
	d := Document{Seed: seed, Real: real, Cases: []caseForm{}}
	for _, f := range figures {
		d.Cases = append(d.Cases,
			caseForm{Case: f.Letter, Title: f.Title, Without: sideOf(f.Without), With: sideOf(f.With)})
	}
	return d
}

func sideOf(s draw.Side) sideForm {
	form := sideForm{
		What: s.What, TTL: inMillis(s.TTL), Lost: s.Lost, Hung: s.Hung, Accepted: s.Accepted, Refused: s.Refused,
		Value: s.Value,
	}
	for _, l := range s.Lanes {
		form.Lanes = append(form.Lanes, laneOf(l))
	}
	return form
}

func laneOf(l timeline.Lane) laneForm {
	form := laneForm{Name: l.Name, Kind: string(l.Kind), Spans: []intervalForm{}, Marks: []pointForm{}} // [], not null
	for _, s := range l.Intervals {
		form.Spans = append(form.Spans,
			intervalForm{During: string(s.State), From: inMillis(s.From), To: inMillis(s.To)})
	}
	for _, m := range l.Points {
		form.Marks = append(form.Marks,
			pointForm{What: string(m.Kind), At: inMillis(m.At), Text: m.Text, Token: m.Token, Newest: m.Newest})
	}
	return form
}
