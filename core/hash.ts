/**
 * A text of 14 hexadecimal digits that stands for a longer one: equal for equal texts, and for different ones as good as never. It
 * tells changes apart and protects nothing: whoever wants two texts of the same hash finds them.
 */
export function hashOf(text: string): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 2_654_435_761);
    low = Math.imul(low ^ unit, 1_597_334_677);
  }
  const mixedHigh = mixed(high, low);
  const mixedLow = mixed(low, high);
  return (
    (mixedLow & 0x1f_ffff).toString(16).padStart(6, "0") + (mixedHigh >>> 0).toString(16).padStart(8, "0")
  );
}

function mixed(one: number, other: number): number {
  const half = Math.imul(one ^ (one >>> 16), 2_246_822_507);
  return half ^ Math.imul(other ^ (other >>> 13), 3_266_489_909);
}

/** A value as JSON in which the order of members does not matter, for texts that are compared. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
