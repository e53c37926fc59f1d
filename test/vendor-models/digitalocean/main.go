// Command digitalocean judges exchanges with DigitalOcean's API by the types of DigitalOcean's own client, and
// reads an emulated API with that client.
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
	if len(args) == 4 && args[0] == "play" {
		return playCloud(os.Stdout, args[1], args[2], args[3])
	}
	return fmt.Errorf("usage: digitalocean judge < EXCHANGES, or digitalocean play ENDPOINT TOKEN DROPLET-TAG")
}
