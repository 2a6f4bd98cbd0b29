package demo

import (
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// The JSON form. Its field names are an interface: fields may be added, none is renamed. Times are milliseconds
// since the beginning of a play.

// Document is the outcome of all cases.
type Document struct {
	Seed  uint64     `json:"seed"`
	Real  bool       `json:"real"`
	Cases []caseForm `json:"cases"`
}

type caseForm struct {
	Case    string `json:"case"`
	Title   string `json:"title"`
	Without side   `json:"without"`
	With    side   `json:"with"`
}

type side struct {
	What     string `json:"what"`
	TTL      millis `json:"ttl_ms"`
	Lost     int    `json:"lost_updates"`
	Hung     int    `json:"hung"`
	Accepted int    `json:"accepted"`
	Refused  int    `json:"refused"`
	Value    int    `json:"value"`
	Lanes    []lane `json:"lanes"`
}

type lane struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Spans []span `json:"spans"`
	Marks []mark `json:"marks"`
}

type span struct {
	During string `json:"during"`
	From   millis `json:"from_ms"`
	To     millis `json:"to_ms"`
}

type mark struct {
	What   string `json:"what"`
	At     millis `json:"at_ms"`
	Text   string `json:"text"`
	Token  uint64 `json:"token,omitempty"`
	Newest uint64 `json:"newest,omitempty"`
}

// millis is a time in milliseconds, with those of microseconds behind the point.
type millis float64

func inMillis(d time.Duration) millis { return millis(d.Microseconds()) / 1000 }

// JSON returns what is to be printed as JSON.
func JSON(seed uint64, real bool, figures []draw.Figure) Document {
	d := Document{Seed: seed, Real: real, Cases: []caseForm{}}
	for _, f := range figures {
		d.Cases = append(d.Cases, caseForm{Case: f.Letter, Title: f.Title, Without: sideOf(f.Without), With: sideOf(f.With)})
	}
	return d
}

func sideOf(s draw.Side) side {
	form := side{
		What: s.What, TTL: inMillis(s.TTL), Lost: s.Lost, Hung: s.Hung, Accepted: s.Accepted, Refused: s.Refused, Value: s.Value,
	}
	for _, l := range s.Lanes {
		form.Lanes = append(form.Lanes, laneOf(l))
	}
	return form
}

func laneOf(l tape.Lane) lane {
	form := lane{Name: l.Name, Kind: string(l.Kind), Spans: []span{}, Marks: []mark{}} // [] rather than null
	for _, s := range l.Spans {
		form.Spans = append(form.Spans, span{During: string(s.During), From: inMillis(s.From), To: inMillis(s.To)})
	}
	for _, m := range l.Marks {
		form.Marks = append(form.Marks, mark{What: string(m.What), At: inMillis(m.At), Text: m.Text, Token: m.Token, Newest: m.Newest})
	}
	return form
}
