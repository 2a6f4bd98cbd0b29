package licences

import (
	"os"
	"strings"
	"testing"
)

const mit = `MIT License

Copyright (c) 2020 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

const agpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU Affero
General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your
option) any later version.

This program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied
warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU Affero General Public License for more
details.

You should have received a copy of the GNU Affero General Public License along with this program. If not, see
<https://www.gnu.org/licenses/>.
`

func TestOnlyAllowedLicencesPass(t *testing.T) {
	t.Parallel()
	apache, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, content, says string }{
		{"LICENSE", mit, ""},
		{"LICENSE.txt", string(apache), ""},
		{"LICENSE", agpl, "AGPL-3.0"},
		{"COPYING", mit + "\n" + agpl, "AGPL-3.0"},
		{"LICENSE", "Ask the author.", "no licence that is known"},
		{"LICENSE", mit + strings.Repeat("You shall also send a postcard to the author.\n", 40),
			"no licence that is known"},
		{"NOTICE", "This product has parts by somebody.", ""},
	} {
		why := Check(Text{Module: "example.com/m v1.0.0", Name: c.name, Content: c.content})
		if (why == "") != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%s beginning with %.20q: %q, want %q", c.name, c.content, why, c.says)
		}
	}
}

func TestWriteNamesEachModule(t *testing.T) {
	t.Parallel()
	all := Write([]Text{{"example.com/m v1.0.0", "LICENSE", mit}, {"example.com/n v1.0.0", "x/NOTICE", "By N."}})
	for _, want := range []string{
		"example.com/m v1.0.0: LICENSE\n", "Copyright (c) 2020 Somebody", "example.com/n v1.0.0: x/NOTICE\n", "By N.",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in %s", want, all)
		}
	}
}
