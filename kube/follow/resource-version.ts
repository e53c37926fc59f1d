const INTEGER = /^(0|[1-9]\d*)$/;

/**
 * Compares two resourceVersions of one resource as integers of any length: negative, zero or positive.
 * Undefined if one is not an integer, because such versions only allow comparison for equality.
 */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!INTEGER.test(a) || !INTEGER.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** Whether `version` is certainly older than `than`. */
export function isOlderVersion(version: string, than: string): boolean {
  return (compareResourceVersions(version, than) ?? 0) < 0;
}
