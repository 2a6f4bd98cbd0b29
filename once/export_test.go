package once

import "time"

// WithClock gives a machine another clock.
func WithClock(now func() time.Time) Option { return func(j *Job) { j.now = now } }
