/** A number with what it counts: `1 node`, `2 nodes`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
