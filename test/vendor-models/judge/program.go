package judge

import (
	"fmt"
	"io"
	"os"
)

// Client is the command of a judge's program that starts the vendor's own client.
type Client struct {
	// Usage names the three arguments of the command, such as `ENDPOINT TOKEN LABEL-SELECTOR`.
	Command, Usage string
	Run            func(out io.Writer, endpoint, token, selection string) error
}

// Main runs a judge's program of this name until its end: the command `judge` judges the exchanges of the input.
func Main(name string, probe func() (API, error), client Client) {
	if err := run(os.Args[1:], name, probe, client); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, name string, probe func() (API, error), client Client) error {
	if len(args) == 1 && args[0] == "judge" {
		api, err := probe()
		if err != nil {
			return err
		}
		return api.JudgeLines(os.Stdin, os.Stdout)
	}
	if len(args) == 4 && args[0] == client.Command {
		return client.Run(os.Stdout, args[1], args[2], args[3])
	}
	return fmt.Errorf("usage: %s judge < EXCHANGES, or %s %s %s", name, name, client.Command, client.Usage)
}
