// Command extract runs the unit tests of a Go module in a copy of it, and writes what their tables contain.
//
// It copies the module out of the module cache, inserts one call into each test that the plan names, adds the
// recorder to the test's package, and runs the tests. The output has the outcome of each test as well, so a
// case whose own test fails is no expectation.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// recorder is added to each package as a test file; its package clause is replaced.
//
//go:embed recorder.go.txt
var recorder string

// Plan says which tests of a module are recorded.
type Plan struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	// Sum is the module's hash in a go.sum.
	Sum   string `json:"sum"`
	Tests []Test `json:"tests"`
}

// Test is one test function, and what is recorded of it.
type Test struct {
	// File is the path in the module.
	File string `json:"file"`
	Test string `json:"test"`
	// Loop is the variable of the table's range statement: each of its values is one case.
	Loop string `json:"loop,omitempty"`
	// EveryLoop is whether all loops with this variable are tables, not the first one alone.
	EveryLoop bool `json:"everyLoop,omitempty"`
	// Call is a function: each statement that calls it is one case. Used without a loop.
	Call string `json:"call,omitempty"`
	// Values are Go expressions by name, evaluated at the start of each case.
	Values map[string]string `json:"values"`
}

// Output is what the tests recorded, and how they ended.
type Output struct {
	Passed map[string]bool   `json:"passed"`
	Cases  []json.RawMessage `json:"cases"`
}

func main() {
	log.SetFlags(0)
	planFile := flag.String("plan", "", "the plan, JSON")
	folder := flag.String("folder", "", "an empty folder for the copy of the module")
	outFile := flag.String("out", "", "the file to write, JSON")
	flag.Parse()
	if err := run(*planFile, *folder, *outFile); err != nil {
		log.Fatal(err)
	}
}

func run(planFile, folder, outFile string) error {
	text, err := os.ReadFile(planFile)
	if err != nil {
		return err
	}
	var plan Plan
	if err := json.Unmarshal(text, &plan); err != nil {
		return fmt.Errorf("%s: %w", planFile, err)
	}
	source, err := download(plan)
	if err != nil {
		return err
	}
	if err := copyFolder(source, folder); err != nil {
		return err
	}
	if err := instrument(folder, plan.Tests); err != nil {
		return err
	}
	output, err := test(folder, plan.Tests)
	if err != nil {
		return err
	}
	written, err := json.Marshal(output)
	if err != nil {
		return err
	}
	return os.WriteFile(outFile, written, 0o644)
}

// download returns the module's folder in the module cache.
func download(plan Plan) (string, error) {
	command := exec.Command("go", "mod", "download", "-json", plan.Module+"@"+plan.Version)
	command.Stderr = os.Stderr
	text, err := command.Output()
	var answer struct{ Dir, Sum, Error string }
	if parseErr := json.Unmarshal(text, &answer); parseErr != nil {
		return "", errors.Join(err, parseErr)
	}
	if answer.Error != "" {
		return "", fmt.Errorf("go mod download %s@%s: %s", plan.Module, plan.Version, answer.Error)
	}
	if answer.Sum != plan.Sum {
		return "", fmt.Errorf("%s@%s has the hash %s, not %s", plan.Module, plan.Version, answer.Sum, plan.Sum)
	}
	return answer.Dir, nil
}

// copyFolder copies regular files; the module cache is read-only, the copy is not.
func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

func instrument(folder string, tests []Test) error {
	byFile := map[string][]Test{}
	for _, each := range tests {
		byFile[each.File] = append(byFile[each.File], each)
	}
	for file, ofFile := range byFile {
		path := filepath.Join(folder, file)
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed, name, err := insertRecords(path, source, ofFile)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			return err
		}
		added := filepath.Join(filepath.Dir(path), "recorder_of_cases_test.go")
		text := strings.Replace(recorder, "package recorder", "package "+name, 1)
		if err := os.WriteFile(added, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// insertion is text at an offset of a source file.
type insertion struct {
	at   int
	text string
}

// insertRecords inserts the calls of one file, and returns the name of its package too.
func insertRecords(path string, source []byte, tests []Test) ([]byte, string, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, source, 0)
	if err != nil {
		return nil, "", err
	}
	var insertions []insertion
	for _, each := range tests {
		function := findFunction(parsed, each.Test)
		if function == nil {
			return nil, "", fmt.Errorf("%s has no %s", path, each.Test)
		}
		positions := findPositions(function, each)
		if len(positions) == 0 {
			return nil, "", fmt.Errorf("%s: %s has neither a loop over %q nor a call of %q", path, each.Test, each.Loop, each.Call)
		}
		for _, position := range positions {
			insertions = append(insertions, insertion{set.Position(position).Offset, formatRecord(each)})
		}
	}
	slices.SortFunc(insertions, func(a, b insertion) int { return b.at - a.at })
	changed := string(source)
	for _, each := range insertions {
		changed = changed[:each.at] + each.text + changed[each.at:]
	}
	return []byte(changed), parsed.Name.Name, nil
}

func findFunction(file *ast.File, name string) *ast.FuncDecl {
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Name.Name == name && function.Recv == nil {
			return function
		}
	}
	return nil
}

// findPositions returns where a case starts: inside the table's loop, or before each statement with the call.
func findPositions(function *ast.FuncDecl, of Test) []token.Pos {
	var positions []token.Pos
	ast.Inspect(function.Body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.RangeStmt:
			value, ok := node.Value.(*ast.Ident)
			if ok && of.Loop != "" && value.Name == of.Loop && (of.EveryLoop || len(positions) == 0) {
				positions = append(positions, node.Body.Lbrace+1)
			}
		case *ast.BlockStmt:
			for _, statement := range node.List {
				if of.Call != "" && callsDirectly(statement, of.Call) {
					positions = append(positions, statement.Pos())
				}
			}
		}
		return true
	})
	return positions
}

// callsDirectly returns whether the statement itself calls the function, not a block in it.
func callsDirectly(statement ast.Stmt, name string) bool {
	found := false
	ast.Inspect(statement, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.CallExpr:
			switch called := node.Fun.(type) {
			case *ast.Ident:
				found = found || called.Name == name
			case *ast.SelectorExpr:
				found = found || called.Sel.Name == name
			}
		}
		return true
	})
	return found
}

func formatRecord(of Test) string {
	names := make([]string, 0, len(of.Values))
	for name := range of.Values {
		names = append(names, name)
	}
	slices.Sort(names)
	var text strings.Builder
	fmt.Fprintf(&text, " recordCase(%q, map[string]any{", of.Test)
	for _, name := range names {
		fmt.Fprintf(&text, "%q: %s, ", name, of.Values[name])
	}
	text.WriteString("}); ")
	return text.String()
}

// test runs the tests, and collects their cases and outcomes.
func test(folder string, tests []Test) (Output, error) {
	cases := filepath.Join(folder, "cases.jsonl")
	var names, packages []string
	for _, each := range tests {
		names = append(names, each.Test)
		packages = append(packages, "./"+filepath.Dir(each.File))
	}
	slices.Sort(packages)
	arguments := []string{"test", "-json", "-count=1", "-vet=off", "-p", "2", "-run", "^(" + strings.Join(names, "|") + ")$"}
	command := exec.Command("go", append(arguments, slices.Compact(packages)...)...)
	command.Dir = folder
	command.Env = append(os.Environ(), "RECORDED_CASES="+cases, "GOFLAGS=-mod=mod", "GOWORK=off")
	var errorText bytes.Buffer
	command.Stderr = &errorText
	text, runErr := command.Output()
	output := Output{Passed: map[string]bool{}}
	var said strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue
		}
		said.WriteString(event.Output)
		if event.Test != "" && (event.Action == "pass" || event.Action == "fail") {
			output.Passed[event.Test] = event.Action == "pass"
		}
	}
	if len(output.Passed) == 0 {
		return output, fmt.Errorf("no test ran: %w\n%s\n%s", runErr, errorText.String(), said.String())
	}
	recorded, err := os.ReadFile(cases)
	if err != nil {
		return output, err
	}
	for line := range bytes.Lines(recorded) {
		output.Cases = append(output.Cases, json.RawMessage(bytes.TrimSpace(line)))
	}
	return output, nil
}
