import type { Authorize } from "#clouds/http/api.ts";
import { keepFresh } from "#clouds/keep-fresh.ts";
import { maxAgeOf, readSecret, type SecretReader } from "#clouds/secrets/read-secret.ts";
import type { SecretReference } from "#clouds/secrets/reference.ts";
import { tokenIn } from "#clouds/secrets/token-in.ts";

/** A server that refuses for good has the secret read anew so often, however many requests there are. */
const RENEWAL_INTERVAL_MS = 60_000;

/** A bearer token out of a secret, read again now and then, and at once where the server refused it. `now` is milliseconds since the epoch. */
export function tokenByReference(
  reference: SecretReference,
  reader: SecretReader,
  now: () => number = Date.now,
): Authorize {
  const read = async () => ({ value: `Bearer ${tokenIn(await readSecret(reference, reader), reference)}` });
  const kept = keepFresh(read, { maxAgeMs: maxAgeOf(reference), now });
  let renewedAt = Number.NEGATIVE_INFINITY;
  return async (refused) => {
    const header = await kept.get();
    if (refused !== header || now() - renewedAt < RENEWAL_INTERVAL_MS) return header;
    renewedAt = now();
    return kept.get({ fresh: true });
  };
}
