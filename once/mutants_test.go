package once_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{
	{
		Name: "state not read again under the lock",
		Edits: []overlay.Edit{{File: "job.go", From: "\tif r.Done || err != nil {\n\t\treturn r, err\n\t}\n" +
			"\tw := ", To: "\t_, _ = r, err\n\tw := "}},
		Test: "TestOfManyProcessesOneRunsATick", Says: "runs",
	},
	{
		Name: "work that was cut short is done",
		Edits: []overlay.Edit{{File: "job.go", From: "case failed != nil && ctx.Err() != nil:",
			To: "case false && ctx.Err() != nil:"}},
		Test: "TestWorkThatIsCutShortRunsAgain", Says: "cancelled",
	},
	{
		Name: "what has ended is not recorded if the caller has given up",
		Edits: []overlay.Edit{{File: "job.go", From: "lease.SetData(context.WithoutCancel(ctx), data)",
			To: "lease.SetData(ctx, data)"}},
		Test: "TestWorkThatIsCutShortRunsAgain", Says: "ended",
	},
	{
		Name:  "an earlier tick runs after a later one",
		Edits: []overlay.Edit{{File: "state.go", From: "order <= 0, err", To: "order == 0, err"}},
		Test:  "TestTicksInOrder", Says: "02:00:00",
	},
	{
		Name: "what is due during a run is not skipped",
		Edits: []overlay.Edit{{File: "state.go", From: "t.Before(s.Runs[0].Ended)",
			To: "t.Before(s.Runs[0].Began)"}},
		Test: "TestTicksDuringARun", Says: "skips",
	},
	{
		Name: "a tick that is not done does not hold up the next",
		Edits: []overlay.Edit{{File: "schedule.go",
			From: "\t\tif !r.Done {\n\t\t\treturn results, false, errors.Join(errs...)\n\t\t}\n", To: ""}},
		Test: "TestWhatIsDue", Says: "after 2 runs",
	},
}

// Each fault fits the code. make mutants checks that it is found.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
