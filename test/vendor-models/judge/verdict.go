// Package judge has what the judges in Go share: the lines that they read, the verdict that they print, and the
// comparison of requests and answers with a client's own requests and types.
package judge

import (
	"encoding/json"
	"fmt"
	"io"
)

// Exchange is a line of a recording, as test/vendor-models/recording/exchange.ts describes it.
type Exchange struct {
	File        string `json:"file"`
	Test        string `json:"test"`
	Method      string `json:"method"`
	Target      string `json:"target"`
	RequestBody string `json:"requestBody"`
	Status      int    `json:"status"`
	AnswerBody  string `json:"answerBody"`
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

// JudgeLines judges the exchanges of the input, and prints the verdict. Each violation is there once for each
// test file.
func (api API) JudgeLines(in io.Reader, out io.Writer) error {
	result := verdict{Operations: map[string]*count{}, Violations: []violation{}}
	found := map[[3]string]int{}
	for lines := json.NewDecoder(in); ; {
		var each Exchange
		if err := lines.Decode(&each); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("a line of the recording is not an exchange: %w", err)
		}
		operation, messages := api.judgeExchange(each)
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
