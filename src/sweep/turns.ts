/** Minutes between two audits of a cluster with a fresh Lease. */
export const AUDIT_EVERY_MINUTES = 10;

/** Minutes in which every regularly checked object has one turn. */
export const REFRESH_EVERY_MINUTES = 5;

/** Returns the minute of a time, which decides the turns; it is equal for all concurrent sweeps. */
export function toMinute(atMs: number): number {
  return Math.floor(atMs / 60_000);
}

/**
 * Whether a cluster with a fresh Lease is listed in this minute: each cluster once in ten minutes, a tenth of
 * them each minute.
 */
export function isAuditTurn(cluster: string, minute: number): boolean {
  return hashName(cluster) % AUDIT_EVERY_MINUTES === minute % AUDIT_EVERY_MINUTES;
}

/**
 * Whether an object without work is checked in this minute: each once in its period, with an equal part each
 * minute. The controller's period (`Looks.everySeconds`) applies, else five minutes.
 */
export function isRefreshTurn(uid: string, minute: number, everySeconds?: number): boolean {
  const everyMinutes =
    everySeconds === undefined ? REFRESH_EVERY_MINUTES : Math.max(1, Math.round(everySeconds / 60));
  return hashName(uid) % everyMinutes === minute % everyMinutes;
}

/**
 * A 32-bit FNV-1a hash, mixed once more, because names that differ only in the last digit would otherwise
 * have consecutive turns.
 */
function hashName(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
