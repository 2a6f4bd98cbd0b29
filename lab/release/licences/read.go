package licences

import (
	"crypto/sha256"
	"encoding/hex"
)

// read are texts that the program does not recognize as an allowed licence, by their SHA-256, and what somebody found
// who read them. A text that changes has to be read again: that is why they are not named by module.
var read = map[string]string{
	"56210f826b8f0fbac3160dfe55c97f4019eb6cdda3963b5a0eab8a8bdb62360e": "Go, src/crypto/internal/boring: OpenSSL's; " +
		"that code is linked only with GOEXPERIMENT=boringcrypto",
	"f597097efe3d97021f89170746bd3a0fb9a8b6fb26b82043ed68a4e0283bee6c": "modernc.org/libc, LICENSE-3RD-PARTY.md: " +
		"the texts of Go (BSD-3-Clause), musl, go-netdb and nixpkgs (MIT), and of parts of musl (BSD-2-Clause)",
	"5ae5bee3072a841376451b48d8cfcec7188e10543926d5870828d36c8a750dc5": "modernc.org/memory, LICENSE-LOGO: " +
		"about a picture that is not linked",
	"b4366b9c27a9364633e015011a231913ed19bf1228f335bf617e50a6f7b168a6": "modernc.org/sqlite, LICENSE-3RD-PARTY.md: " +
		"what is linked (part 1) is under MIT and BSD-3-Clause, or in the public domain; MPL-2.0 is that of a module " +
		"which is compiled into nothing (part 3)",
	"8438c9c89b849131ead81d5435cb97fcf052df5b0b286dda8a2d4c29e6cb3fd0": "modernc.org/sqlite, LICENSE-SQLITE: " +
		"SQLite is in the public domain",
}

func wasRead(t Text) bool {
	sum := sha256.Sum256([]byte(t.Content))
	return read[hex.EncodeToString(sum[:])] != ""
}
