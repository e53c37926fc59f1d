// Command hcloud judges exchanges with Hetzner's API by the types of Hetzner's own client, and reads an
// emulated API with that client.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "judge" {
		api, err := probeAPI()
		if err != nil {
			return err
		}
		return api.JudgeLines(os.Stdin, os.Stdout)
	}
	if len(args) == 4 && args[0] == "read" {
		return readCloud(os.Stdout, args[1], args[2], args[3])
	}
	return fmt.Errorf("usage: hcloud judge < EXCHANGES, or hcloud read ENDPOINT TOKEN LABEL-SELECTOR")
}
