/** Formats a number with its noun: `1 node`, `2 nodes`. */
export function formatCounted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
