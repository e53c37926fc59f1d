import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { readAuthority } from "#cli/infra/read-authority.ts";
import type { JwtAuthenticator } from "#core/authentication/configuration.ts";
import { type OidcFlags, translateOidcFlags } from "#core/authentication/oidc-flags.ts";

/** kube-apiserver's own flags, by the names on the command line. */
export interface OidcCommandFlags {
  readonly oidcIssuerUrl?: string | undefined;
  readonly oidcClientId?: string | undefined;
  readonly oidcUsernameClaim?: string | undefined;
  readonly oidcUsernamePrefix?: string | undefined;
  readonly oidcGroupsClaim?: string | undefined;
  readonly oidcGroupsPrefix?: string | undefined;
  readonly oidcRequiredClaim?: readonly string[] | undefined;
  readonly oidcSigningAlgs?: readonly string[] | undefined;
  readonly oidcCaFile?: string | undefined;
}

/** The translated flags, and those that an entry cannot express. */
export interface TranslatedOidcFlags {
  readonly entry: JwtAuthenticator;
  readonly notes: readonly string[];
}

/** Translates `--oidc-*` flags to an entry; undefined without such flags. */
export async function readOidcFlags(
  flags: OidcCommandFlags,
  faults: ConfigurationFault[],
): Promise<TranslatedOidcFlags | undefined> {
  const before = faults.length;
  const given: OidcFlags = {
    issuerUrl: flags.oidcIssuerUrl,
    clientId: flags.oidcClientId,
    usernameClaim: flags.oidcUsernameClaim,
    usernamePrefix: flags.oidcUsernamePrefix,
    groupsClaim: flags.oidcGroupsClaim,
    groupsPrefix: flags.oidcGroupsPrefix,
    requiredClaim: flags.oidcRequiredClaim,
    signingAlgs: flags.oidcSigningAlgs,
    certificateAuthority: await readAuthority("--oidc-ca-file", flags.oidcCaFile, faults),
  };
  const isAsked = flags.oidcCaFile !== undefined || Object.values(given).some((each) => each !== undefined);
  if (!isAsked) return undefined;
  const translated = translateOidcFlags(given);
  if (translated.kind === "faults") faults.push(...translated.faults);
  return translated.kind === "entry" && faults.length === before ? translated : undefined;
}
