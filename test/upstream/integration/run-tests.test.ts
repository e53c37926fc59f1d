import { expect, test } from "vitest";
import { parseOutput } from "#test/upstream/integration/run-tests.ts";
import { buildRows } from "#test/upstream/integration/suites.ts";

const OUTPUT = `=== RUN   Test_Taint
    ccm_test.go:152: expected node to not have Taint
--- FAIL: Test_Taint (50.01s)
=== RUN   Test_Addresses
=== RUN   Test_Addresses/IPv4
I1128 18:10:54.000000  server.go:10] a log line
--- PASS: Test_Addresses (6.45s)
    --- PASS: Test_Addresses/IPv4 (1.03s)
=== RUN   Test_Skipped
--- SKIP: Test_Skipped (0.00s)
=== RUN   Test_Panics
panic: serverless-ccm was not ready in time
`;

test("reads the outcome of each test and subtest, and why one failed", () => {
  expect(parseOutput(OUTPUT)).toEqual({
    outcomes: new Map([
      ["Test_Taint", "failed"],
      ["Test_Addresses", "passed"],
      ["Test_Addresses/IPv4", "passed"],
      ["Test_Skipped", "skipped"],
      ["Test_Panics", "did not end"],
    ]),
    messages: [
      "ccm_test.go:152: expected node to not have Taint",
      "panic: serverless-ccm was not ready in time",
    ],
  });
});

test("a test that only the stock controller reached is a difference", () => {
  const stock = {
    outcomes: new Map([
      ["a", "passed"],
      ["b", "passed"],
    ]),
    messages: [],
    exitCode: 0,
  };
  const ours = { outcomes: new Map([["a", "passed"]]), messages: ["panic: no"], exitCode: 2 };
  expect(buildRows(stock, ours)).toEqual([
    { test: "a", stock: "passed", ours: "passed" },
    { test: "b", stock: "passed", ours: "did not run", detail: "panic: no" },
  ]);
});
