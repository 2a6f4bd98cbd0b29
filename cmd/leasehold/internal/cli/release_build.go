//go:build unix

package cli

// What a release was built from. The linker sets these: a program that was not built by "go install MODULE@VERSION"
// knows no version of its own.
var releaseVersion, releaseRevision, releaseTime string

// readRelease sets what the linker was told about a release.
func (b *build) readRelease() {
	if releaseVersion != "" {
		b.Version, b.Revision, b.Time, b.Modified = releaseVersion, releaseRevision, releaseTime, false
	}
}
