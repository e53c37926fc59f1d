import { ClustersFileError } from "#config/clusters-file.ts";
import type { Parameter, ParameterStore } from "#config/registry/ssm/parameter-store.ts";

/** A thousand clusters are a hundred pages. */
const MAX_PAGES = 1_000;

/**
 * Lists all parameters directly under a path. Rejects if the list is incomplete, because an incomplete list
 * proves no absence.
 */
export async function listParameters(
  store: Pick<ParameterStore, "list">,
  path: string,
  signal?: AbortSignal,
): Promise<readonly Parameter[]> {
  const found: Parameter[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await store.list(path, next, signal);
    found.push(...page.parameters);
    if (page.next === undefined) return found;
    next = page.next;
  }
  const message = `the list goes on beyond ${MAX_PAGES} pages; see whether the path is the one of clusters alone`;
  throw new ClustersFileError("TooLarge", `ssm:${path}`, [{ path: "", message }]);
}
