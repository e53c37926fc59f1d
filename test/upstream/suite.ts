import type { Part } from "#test/setup/parts.ts";

/** Tests of Kubernetes that judge a cloud-controller-manager, unmodified from a published module. */
export interface UpstreamSuite {
  /** As in `npm run test:upstream -- NAME`. */
  readonly name: string;
  /** The Go package whose tests run, such as `k8s.io/kubernetes/test/integration/cloudprovider`. */
  readonly source: string;
  /** The version of the package's module, such as `v1.36.3`. */
  readonly version: string;
  /** The programs that it needs, as the page names them. */
  readonly needs: string;
  /**
   * Runs the tests against the stock controller and against ours. Missing if the machine lacks what it needs;
   * `because` says what to run. Rejects if the tests could not run, or if the stock controller does not pass.
   */
  run(say: (line: string) => void): Promise<Part<readonly TestRow[]>>;
}

/** The result of one test. */
export interface TestRow {
  /** The test's name upstream. */
  readonly test: string;
  /** What the stock controller does, such as `passed`. */
  readonly stock: string;
  /** What ours does, in the same words. */
  readonly ours: string;
  /** The first cell of the row in docs/explanation/differences*.md that explains why they differ. */
  readonly explainedBy?: string;
  /** Why ours cannot run the test; it then counts as neither passed nor failed. */
  readonly notRunnable?: string;
  /** How ours failed, in a few lines. */
  readonly detail?: string;
}
