/**
 * Returns the fewest steps that still fail, as far as the time allows. Removes halves, then quarters, down to
 * single steps, while the remaining steps fail.
 */
export async function findFewestSteps<Step>(
  steps: readonly Step[],
  fails: (fewer: readonly Step[]) => Promise<boolean>,
  limitMs: number,
): Promise<readonly Step[]> {
  const until = performance.now() + limitMs;
  let least = steps;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    // Starts at the end, because later steps depend on earlier ones.
    for (let start = least.length - size; start > -size; start -= size) {
      if (performance.now() > until) return least;
      const fewer = [...least.slice(0, Math.max(0, start)), ...least.slice(start + size)];
      if (fewer.length < least.length && (await fails(fewer))) least = fewer;
    }
  }
  return least;
}
