// Checks a proof of `cerebro work prove ID --json` with the Go project's own code: the signed note and the path from the
// leaf to the root. It knows nothing of Cerebro.
//
// verify PROOF: exit 0 where both hold, 1 with the reason where one does not.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type proof struct {
	Leaf  string   `json:"leaf"`
	Index int64    `json:"index"`
	Size  int64    `json:"size"`
	Path  []string `json:"path"`
	Note  string   `json:"note"`
	Key   string   `json:"key"`
}

func main() {
	if len(os.Args) != 2 {
		fail("usage: verify PROOF")
	}
	if err := check(os.Args[1]); err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var p proof
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	verifier, err := note.NewVerifier(p.Key)
	if err != nil {
		return err
	}
	signed, err := note.Open([]byte(p.Note), note.VerifierList(verifier))
	if err != nil {
		return err
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) < 3 {
		return fmt.Errorf("the note is no checkpoint")
	}
	var size int64
	if _, err := fmt.Sscanf(lines[1], "%d", &size); err != nil || size != p.Size {
		return fmt.Errorf("the note is of %q leaves, the proof of %d", lines[1], p.Size)
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return err
	}
	var audit tlog.RecordProof
	for _, step := range p.Path {
		bytes, err := hex.DecodeString(step)
		if err != nil || len(bytes) != tlog.HashSize {
			return fmt.Errorf("%q is no hash", step)
		}
		var hash tlog.Hash
		copy(hash[:], bytes)
		audit = append(audit, hash)
	}
	return tlog.CheckRecord(audit, p.Size, root, p.Index, tlog.RecordHash([]byte(p.Leaf)))
}
