/**
 * Returns a hash of 14 hexadecimal digits: equal for equal texts, and practically never equal for different
 * ones. It detects changes and is not cryptographic: collisions are easy to construct.
 */
export function hashText(text: string): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 2_654_435_761);
    low = Math.imul(low ^ unit, 1_597_334_677);
  }
  const mixedHigh = mixHash(high, low);
  const mixedLow = mixHash(low, high);
  return (
    (mixedLow & 0x1f_ffff).toString(16).padStart(6, "0") + (mixedHigh >>> 0).toString(16).padStart(8, "0")
  );
}

function mixHash(one: number, other: number): number {
  const half = Math.imul(one ^ (one >>> 16), 2_246_822_507);
  return half ^ Math.imul(other ^ (other >>> 13), 3_266_489_909);
}

/** Returns a JSON value as text with sorted members, for comparison. */
export function formatCanonicalJson(value: unknown): string {
  return JSON.stringify(sortMembers(value));
}

function sortMembers(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sortMembers);
  const names = Object.keys(value).sort();
  return Object.fromEntries(
    names.map((name) => [name, sortMembers((value as Record<string, unknown>)[name])]),
  );
}
