/** Minutes between two audits of a cluster whose Lease is fresh. */
export const AUDIT_EVERY_MINUTES = 10;

/** Minutes in which every object that is looked at now and then has had its turn once. */
export const REFRESH_EVERY_MINUTES = 5;

/** The minute of a moment, by which turns are told: the same for all who sweep at the same time. */
export function minuteOf(atMs: number): number {
  return Math.floor(atMs / 60_000);
}

/** Whether a cluster is listed in this minute although its Lease is fresh; every cluster once in ten minutes, a tenth of them in each. */
export function isAuditTurn(cluster: string, minute: number): boolean {
  return hashOf(cluster) % AUDIT_EVERY_MINUTES === minute % AUDIT_EVERY_MINUTES;
}

/**
 * Whether an object that needs no work is looked at in this minute: each once in so many minutes, a part of them in each; once in five
 * where the controller does not say (`Looks.everySeconds`).
 */
export function isRefreshTurn(uid: string, minute: number, everySeconds?: number): boolean {
  const everyMinutes =
    everySeconds === undefined ? REFRESH_EVERY_MINUTES : Math.max(1, Math.round(everySeconds / 60));
  return hashOf(uid) % everyMinutes === minute % everyMinutes;
}

/** FNV-1a of 32 bits, mixed once more, as names that differ in their last digit alone would else have turns in a row. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
