import * as z from "zod";
import type { CredentialSource, RoleCredentials } from "#platforms/aws/role-credentials.ts";
import { keepFresh, type Reading } from "#platforms/keep-fresh.ts";
import { getMaxAge, readSecret, type SecretReader } from "#platforms/secrets/read-secret.ts";
import { formatReference, type SecretReference } from "#platforms/secrets/reference.ts";
import { SecretError } from "#platforms/secrets/secret-error.ts";

/** The format of `credential_process`, AWS's own. */
const AccessKeys = z.object({
  AccessKeyId: z.string().min(1),
  SecretAccessKey: z.string().min(1),
  SessionToken: z.string().min(1).optional(),
  Expiration: z.iso.datetime({ offset: true }).optional(),
});

/**
 * Reads access keys from a secret, again at intervals and before they expire. `wallClock` is milliseconds
 * since the epoch.
 */
export function createAccessKeys(
  reference: SecretReference,
  reader: SecretReader,
  wallClock: () => number,
): CredentialSource {
  const read = async (): Promise<Reading<RoleCredentials>> => {
    const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = parseAccessKeys(
      await readSecret(reference, reader),
      reference,
    );
    const endsAt = Expiration === undefined ? undefined : Date.parse(Expiration);
    if (endsAt !== undefined && endsAt <= wallClock()) {
      const what = `the access keys in ${formatReference(reference)} have ended at ${Expiration}`;
      throw new SecretError("SecretExpired", `${what}; put new ones there`);
    }
    const session = SessionToken === undefined ? {} : { sessionToken: SessionToken };
    // Expires at once for the SDK, so that it calls before every request; this module decides on caching.
    const expiration = new Date(0);
    return {
      value: { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, ...session, expiration },
      endsAt,
    };
  };
  const kept = keepFresh(read, { maxAgeMs: getMaxAge(reference), now: wallClock });
  return () => kept.get();
}

function parseAccessKeys(text: string, reference: SecretReference): z.output<typeof AccessKeys> {
  try {
    return AccessKeys.parse(JSON.parse(text));
  } catch {
    const what = `${formatReference(reference)} holds no access keys`;
    throw new SecretError("SecretInvalid", `${what}; JSON with AccessKeyId and SecretAccessKey is expected`);
  }
}
