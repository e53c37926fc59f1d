import type { Authorize } from "#clouds/http/api.ts";
import { keepFresh } from "#platforms/keep-fresh.ts";
import { parseToken } from "#platforms/secrets/parse-token.ts";
import { getMaxAge, readSecret, type SecretReader } from "#platforms/secrets/read-secret.ts";
import type { SecretReference } from "#platforms/secrets/reference.ts";

/** Minimum interval between reads after rejections, however many requests there are. */
const RENEWAL_INTERVAL_MS = 60_000;

/**
 * Creates a bearer token from a secret, read again at intervals, and at once if the server rejects it. `now`
 * is milliseconds since the epoch.
 */
export function createReferencedToken(
  reference: SecretReference,
  reader: SecretReader,
  now: () => number = Date.now,
): Authorize {
  const read = async () => ({
    value: `Bearer ${parseToken(await readSecret(reference, reader), reference)}`,
  });
  const freshHeader = keepFresh(read, { maxAgeMs: getMaxAge(reference), now });
  let renewedAt = Number.NEGATIVE_INFINITY;
  return async (refused) => {
    const header = await freshHeader.get();
    if (refused !== header || now() - renewedAt < RENEWAL_INTERVAL_MS) return header;
    renewedAt = now();
    return freshHeader.get({ fresh: true });
  };
}
