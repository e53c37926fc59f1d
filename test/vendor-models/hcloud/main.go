// Command hcloud judges exchanges with Hetzner's API by the types of Hetzner's own client, and reads an
// emulated API with that client.
package main

import (
	"encoding/json"
	"fmt"
	"io"
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
		return judgeLines(os.Stdin, os.Stdout)
	}
	if len(args) == 4 && args[0] == "read" {
		return readCloud(os.Stdout, args[1], args[2], args[3])
	}
	return fmt.Errorf("usage: hcloud judge < EXCHANGES, or hcloud read ENDPOINT TOKEN LABEL-SELECTOR")
}

// exchange is a line of a recording, as test/vendor-models/recording/exchange.ts describes it.
type exchange struct {
	File         string            `json:"file"`
	Test         string            `json:"test"`
	Method       string            `json:"method"`
	Target       string            `json:"target"`
	RequestBody  string            `json:"requestBody"`
	Status       int               `json:"status"`
	AnswerBody   string            `json:"answerBody"`
	AnswerHeader map[string]string `json:"answerHeaders"`
}

// verdict is the answer of a judge, as test/vendor-models/judge.ts reads it.
type verdict struct {
	Operations map[string]*count `json:"operations"`
	Violations []violation       `json:"violations"`
}

type count struct {
	Requests int `json:"requests"`
	Answers  int `json:"answers"`
}

type violation struct {
	Operation string `json:"operation"`
	Message   string `json:"message"`
	File      string `json:"file"`
	Test      string `json:"test"`
	Count     int    `json:"count"`
}

func judgeLines(in io.Reader, out io.Writer) error {
	operations, err := probeOperations()
	if err != nil {
		return err
	}
	result := verdict{Operations: map[string]*count{}, Violations: []violation{}}
	found := map[[3]string]int{}
	for lines := json.NewDecoder(in); ; {
		var each exchange
		if err := lines.Decode(&each); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("a line of the recording is not an exchange: %w", err)
		}
		operation, messages := judgeExchange(operations, each)
		counted, ok := result.Operations[operation]
		if !ok {
			counted = &count{}
			result.Operations[operation] = counted
		}
		counted.Requests++
		if each.Status != 0 {
			counted.Answers++
		}
		for _, message := range messages {
			key := [3]string{each.File, operation, message}
			at, ok := found[key]
			if !ok {
				at = len(result.Violations)
				found[key] = at
				result.Violations = append(result.Violations, violation{operation, message, each.File, each.Test, 0})
			}
			result.Violations[at].Count++
		}
	}
	return json.NewEncoder(out).Encode(result)
}
