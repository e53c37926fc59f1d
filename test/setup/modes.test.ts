import { expect, test } from "vitest";
import { describeLeftOut } from "#test/setup/modes.ts";

const FILES = [
  "test/core/rights.test.ts",
  "test/infra/rights.test.ts",
  "test/infra/deployments.test.ts",
  "test/infra/terraform/module.test.ts",
  "test/infra/actions-sent.test.ts",
];

test.each([
  [
    "test",
    [
      "left out by --mode test: test/infra/deployments.test.ts, test/infra/terraform/module.test.ts; run them with --mode all",
      "left out by --mode test: test/infra/actions-sent.test.ts; run them with --mode release",
    ],
  ],
  ["all", ["left out by --mode all: test/infra/actions-sent.test.ts; run them with --mode release"]],
  ["release", []],
])("names the files that --mode %s leaves out, and the mode that runs them", (mode, lines) => {
  expect(describeLeftOut(mode, FILES)).toEqual(lines);
});
