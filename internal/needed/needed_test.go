package needed

import "testing"

func TestServersAreNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value string
		want        bool
	}{{"CI", "true", true}, {"CI", "", false}, {Env, "1", true}, {Env, "", false}, {"OTHER", "true", false}} {
		got := servers(func(name string) string {
			if name == c.name {
				return c.value
			}
			return ""
		})
		if got != c.want {
			t.Errorf("with %s=%s it is needed: %v, want %v", c.name, c.value, got, c.want)
		}
	}
}
