// Which test files a run takes: `npm test` is mode `test`, `npm run test:all` mode `all`, `npm run
// test:release` mode `release`.

import { matchesGlob } from "node:path";

/** The part of a run that a mode is: `test` is `npm test`, and each mode contains the one before it. */
type TestMode = "test" | "all" | "release";

/**
 * What `npm test` leaves to `test:all`: a real control plane, built programs, policies, whole systems, and
 * what takes long.
 */
const NOT_IN_TEST = [
  "test/**/*kube-apiserver*.test.ts",
  "test/adversarial/**",
  "test/build/{bill-of-materials,build,cloud-bundles,demo-control-plane,function-bundle,function-sign-in,package}.test.ts",
  "test/cli/{fallback,relay-workers,run-clusters}.test.ts",
  "test/cli/handover/handover.test.ts",
  "test/cli/demo/demo.test.ts",
  "test/clouds/*/run.test.ts",
  "test/clouds/aws/shared-reads/outage.test.ts",
  "test/crash-consistency/**",
  "test/docs/tutorial.test.ts",
  "test/e2e/**",
  "test/faults/**",
  "test/fuzz/**",
  "test/infra/*/**",
  "test/infra/!(aws-permissions|policy-variants|rights).test.ts",
  "test/model/**",
  "test/platforms/contract.test.ts",
  "test/sharding/**",
  "test/sign-in/**",
  "test/two-actors/**",
  "test/vendor-models/**",
  "test/witness/**",
];

/**
 * What `test:all` leaves to the release: repetitions on a second API server, and tables that one row of
 * `test:all` stands for.
 */
const NOT_IN_ALL = [
  "test/clouds/aws/routes/conformance-kube-apiserver.test.ts",
  "test/clouds/aws/tags/conformance-kube-apiserver.test.ts",
  "test/infra/actions-sent.test.ts",
];

/** The globs that a mode excludes. Rejects a mode that does not exist. */
export function listExcluded(mode: string): readonly string[] {
  switch (mode as TestMode) {
    case "test":
      return [...NOT_IN_TEST, ...NOT_IN_ALL];
    case "all":
      return NOT_IN_ALL;
    case "release":
      return [];
    default:
      throw new Error(`--mode ${mode}: choose test, all or release`);
  }
}

/**
 * Returns a line about the named files that a mode leaves out, for each mode that runs some of them. Vitest names none
 * of them if it runs another named file.
 */
export function describeLeftOut(mode: string, files: readonly string[]): readonly string[] {
  const isRunBy = (each: TestMode, file: string): boolean =>
    !listExcluded(each).some((glob) => matchesGlob(file, glob));
  const leftOut = files.filter((file) => !isRunBy(mode as TestMode, file));
  const byMode = Map.groupBy(leftOut, (file) => (isRunBy("all", file) ? "all" : "release"));
  return [...byMode].map(
    ([other, of]) => `left out by --mode ${mode}: ${of.join(", ")}; run them with --mode ${other}`,
  );
}

/** A part of the machine that `npm test` does not make; it is skipped with `CI=true`, too. */
export const LEFT_TO_ALL = {
  kind: "missing",
  because: "npm test leaves it to npm run test:all",
  isLeftToAll: true,
} as const;

/**
 * Whether a run in this mode builds a control plane with Go if the machine lacks one; `npm test` only uses an
 * existing one.
 */
export function mayBuildControlPlane(mode: string): boolean {
  return mode !== "test";
}
