import * as z from "zod";
import type { CredentialSource, RoleCredentials } from "#clouds/aws/credentials.ts";
import { keepFresh, type Reading } from "#clouds/keep-fresh.ts";
import { maxAgeOf, readSecret, type SecretReader } from "#clouds/secrets/read-secret.ts";
import { referenceWords, type SecretReference } from "#clouds/secrets/reference.ts";
import { SecretError } from "#clouds/secrets/secret-error.ts";

/** As `credential_process` prints them: AWS's own form. */
const AccessKeys = z.object({
  AccessKeyId: z.string().min(1),
  SecretAccessKey: z.string().min(1),
  SessionToken: z.string().min(1).optional(),
  Expiration: z.iso.datetime({ offset: true }).optional(),
});

/** Access keys out of a secret, read again now and then and before they end. `wallClock` is milliseconds since the epoch. */
export function accessKeys(
  reference: SecretReference,
  reader: SecretReader,
  wallClock: () => number,
): CredentialSource {
  const read = async (): Promise<Reading<RoleCredentials>> => {
    const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = parse(
      await readSecret(reference, reader),
      reference,
    );
    const endsAt = Expiration === undefined ? undefined : Date.parse(Expiration);
    if (endsAt !== undefined && endsAt <= wallClock()) {
      const what = `the access keys in ${referenceWords(reference)} have ended at ${Expiration}`;
      throw new SecretError("SecretExpired", `${what}; put new ones there`);
    }
    const session = SessionToken === undefined ? {} : { sessionToken: SessionToken };
    // Over at once, for the SDK: it then asks before every request, and how long they are kept is said here.
    const expiration = new Date(0);
    return {
      value: { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, ...session, expiration },
      endsAt,
    };
  };
  const kept = keepFresh(read, { maxAgeMs: maxAgeOf(reference), now: wallClock });
  return () => kept.get();
}

function parse(text: string, reference: SecretReference): z.output<typeof AccessKeys> {
  try {
    return AccessKeys.parse(JSON.parse(text));
  } catch {
    const what = `${referenceWords(reference)} holds no access keys`;
    throw new SecretError("SecretInvalid", `${what}; JSON with AccessKeyId and SecretAccessKey is expected`);
  }
}
