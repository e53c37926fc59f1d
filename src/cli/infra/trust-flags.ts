import { X509Certificate } from "node:crypto";
import { readDeployedRoles } from "#cli/infra/deployed-roles.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { EGRESS_SELECTOR_TYPES, type EgressSelectorType } from "#core/authentication/configuration.ts";
import {
  checkAudience,
  checkIssuerUrl,
  formatAudience,
  isSessionArn,
  MAX_LIFETIME_SECONDS,
  parseRoleArn,
  type Trust,
} from "#core/authentication/trust.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { ClusterName } from "#core/event.ts";
import { readDuration } from "#core/flags.ts";
import { formatUser, IDENTITIES, type Identity } from "#core/identities.ts";
import { findNearest } from "#core/nearest.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The flags that define whom an API server must trust. */
export interface TrustFlags {
  /** Each a URL, or `ACCOUNT=URL`. */
  readonly issuer?: readonly string[] | undefined;
  /** Each `NAME=ARN`. */
  readonly role?: readonly string[] | undefined;
  /** A file with a deployment's output of its roles. */
  readonly rolesFrom?: string | undefined;
  readonly clusterName?: string | undefined;
  readonly audience?: readonly string[] | undefined;
  readonly maxTokenLifetime?: string | undefined;
  readonly discoveryUrl?: readonly string[] | undefined;
  /** Each a file, or `ACCOUNT=FILE`. */
  readonly certificateAuthority?: readonly string[] | undefined;
  readonly egressSelector?: string | undefined;
}

/** Reads one trust for each account; every fault goes to `faults`, and a trust with a fault is left out. */
export async function readTrusts(flags: TrustFlags, faults: ConfigurationFault[]): Promise<readonly Trust[]> {
  const before = faults.length;
  const issuers = readAccountValues("--issuer", flags.issuer, faults);
  const discoveryUrls = readAccountValues("--discovery-url", flags.discoveryUrl, faults);
  const authorityFiles = readAccountValues("--certificate-authority", flags.certificateAuthority, faults);
  const deployed = await readDeployedRoles(flags.rolesFrom, faults);
  const roles = readRoles(
    [
      ...deployed.map(({ identity, arn }) => ({ flag: "--roles-from", text: `${identity}=${arn}` })),
      ...(flags.role ?? []).map((text) => ({ flag: "--role", text })),
    ],
    faults,
  );
  if (flags.role === undefined && flags.rolesFrom === undefined)
    faults.push({ name: "--role", message: ROLES_MISSING });
  const audiences = readAudiences(flags, faults);
  const egressSelectorType = readEgressSelector(flags.egressSelector, faults);
  const maxLifetimeSeconds = readDuration("--max-token-lifetime", flags.maxTokenLifetime, LIFETIME, faults);
  checkUrls("--issuer", issuers.values, faults);
  checkUrls("--discovery-url", discoveryUrls.values, faults);
  const authorities = await readAuthorities(authorityFiles.values, faults);
  const accounts = [...new Set(roles.map(({ account }) => account))].toSorted();
  for (const given of [issuers, discoveryUrls, authorityFiles]) given.check(accounts);
  // Ambiguous values were already reported.
  if (flags.issuer === undefined || issuers.values.length > 0) checkIssuers(issuers, accounts, faults);
  if (faults.length > before) return [];
  return accounts.map((account) => ({
    issuer: {
      url: issuers.of(account) ?? "",
      discoveryURL: discoveryUrls.of(account),
      certificateAuthority: authorities.get(authorityFiles.of(account) ?? ""),
      egressSelectorType,
    },
    audiences,
    roles: roles
      .filter((role) => role.account === account)
      .map(({ arn, identity }) => ({ arn, user: formatUser(identity) })),
    maxLifetimeSeconds,
  }));
}

/** AWS issues tokens for a minute to an hour. */
const LIFETIME = {
  from: 60,
  to: MAX_LIFETIME_SECONDS,
  words: "a minute to an hour",
  examples: "15m",
} as const;

interface GivenRole {
  readonly identity: Identity;
  readonly arn: string;
  readonly account: string;
}

const ROLES_MISSING =
  "is missing: give the role of each identity, such as node=ARN, or the outputs of the deployment with --roles-from";

/** A flag and its value: an identity, = and an ARN. */
interface RoleText {
  readonly flag: string;
  readonly text: string;
}

function readRoles(given: readonly RoleText[], faults: ConfigurationFault[]): readonly GivenRole[] {
  const roles = new Map<string, GivenRole>();
  for (const { flag: name, text } of given) {
    const [word, arn] = [text.split("=", 1)[0] ?? "", text.slice(text.indexOf("=") + 1)];
    const identity = IDENTITIES.find((each) => each === word);
    const account = parseRoleArn(arn)?.account;
    if (identity === undefined || !text.includes("="))
      faults.push({ name, message: formatUnknownIdentity(text, word) });
    else if (account === undefined) faults.push({ name, message: formatInvalidRole(identity, arn) });
    else if ((roles.get(arn)?.identity ?? identity) !== identity)
      faults.push({
        name,
        message: `${arn} is ${roles.get(arn)?.identity} and ${identity}: a role is one user, so that each identity needs a role of its own`,
      });
    else roles.set(arn, { identity, arn, account });
  }
  return [...roles.values()].sort((a, b) => IDENTITIES.indexOf(a.identity) - IDENTITIES.indexOf(b.identity));
}

function formatUnknownIdentity(text: string, word: string): string {
  const meant = findNearest(word, IDENTITIES);
  const hint = meant === undefined || meant === word ? "" : `did you mean ${meant}? `;
  return `"${sanitizeText(text)}" is not an identity and its role; ${hint}write it as ${IDENTITIES.join(" or ")}, then = and an ARN`;
}

function formatInvalidRole(identity: Identity, arn: string): string {
  const because = isSessionArn(arn) ? "is a session of a role; its token names the role itself, " : "is no ";
  return `${identity}: "${sanitizeText(arn)}" ${because}arn:aws:iam::ACCOUNT:role/NAME, with its path where it has one`;
}

/** Checks that each account of a role has an issuer of its own. */
function checkIssuers(
  issuers: AccountValues,
  accounts: readonly string[],
  faults: ConfigurationFault[],
): void {
  const fault = (message: string): unknown => faults.push({ name: "--issuer", message });
  if (issuers.values.length === 0) fault(ISSUER_MISSING);
  else if (issuers.isForAll && accounts.length > 1)
    fault(
      `is one, and the roles are of ${accounts.join(" and ")}: write ACCOUNT=URL for each, as every account has an issuer of its own`,
    );
  else
    for (const account of accounts)
      if (issuers.of(account) === undefined)
        fault(`is missing for account ${account}, of which there is a --role`);
}

const ISSUER_MISSING =
  "is missing: it is the URL of the account's issuer of tokens, as `aws iam get-outbound-web-identity-federation-info` says it";

function readAudiences(
  { clusterName, audience = [] }: TrustFlags,
  faults: ConfigurationFault[],
): readonly string[] {
  if (clusterName !== undefined && !ClusterName.safeParse(clusterName).success)
    faults.push({
      name: "--cluster-name",
      message: `"${sanitizeText(clusterName)}" is not a name of a cluster`,
    });
  for (const text of audience) {
    const fault = checkAudience(text);
    if (fault !== undefined) faults.push({ name: "--audience", message: `"${sanitizeText(text)}" ${fault}` });
  }
  const all = [...(clusterName === undefined ? [] : [formatAudience(clusterName)]), ...audience];
  if (all.length === 0)
    faults.push({
      name: "--cluster-name",
      message: "is missing: give it, or --audience, so that tokens are for this cluster",
    });
  return [...new Set(all)];
}

function readEgressSelector(
  given: string | undefined,
  faults: ConfigurationFault[],
): EgressSelectorType | undefined {
  const type = EGRESS_SELECTOR_TYPES.find((each) => each === given);
  if (given !== undefined && type === undefined)
    faults.push({
      name: "--egress-selector",
      message: `"${sanitizeText(given)}" is not one of ${EGRESS_SELECTOR_TYPES.join(", ")}`,
    });
  return type;
}

function checkUrls(name: string, urls: readonly string[], faults: ConfigurationFault[]): void {
  for (const url of urls) {
    const fault = checkIssuerUrl(url);
    if (fault !== undefined) faults.push({ name, message: `"${sanitizeText(url)}" ${fault}` });
  }
}

async function readAuthorities(
  files: readonly string[],
  faults: ConfigurationFault[],
): Promise<ReadonlyMap<string, string>> {
  const authorities = new Map<string, string>();
  for (const file of files) {
    const pem = await readAuthority("--certificate-authority", file, faults);
    if (pem !== undefined) authorities.set(file, pem);
  }
  return authorities;
}

/** A flag that is given once for all AWS accounts, or once for each as `ACCOUNT=VALUE`. */
interface AccountValues {
  readonly values: readonly string[];
  of(account: string): string | undefined;
  /** Whether one value applies to all accounts. */
  readonly isForAll: boolean;
  /** Reports values for accounts that are not in this list. */
  check(accounts: readonly string[]): void;
}

/** Reads such a flag; an ambiguous value is a fault. */
function readAccountValues(
  name: string,
  given: readonly string[] = [],
  faults: ConfigurationFault[],
): AccountValues {
  const byAccount = new Map<string, string>();
  let forAll: string | undefined;
  for (const text of given) {
    const [, account, value = text] = /^(\d{12})=(.*)$/s.exec(text) ?? [];
    if (account === undefined && given.length > 1)
      faults.push({
        name,
        message: `"${sanitizeText(text)}" is of which account? with several, write ACCOUNT=… for each`,
      });
    else if (account === undefined) forAll = value;
    else if (byAccount.has(account)) faults.push({ name, message: `is given twice for account ${account}` });
    else byAccount.set(account, value);
  }
  return {
    values: forAll === undefined ? [...byAccount.values()] : [forAll],
    of: (account) => byAccount.get(account) ?? forAll,
    isForAll: forAll !== undefined,
    check: (accounts) => {
      for (const account of byAccount.keys())
        if (!accounts.includes(account))
          faults.push({ name, message: `is given for account ${account}, of which there is no --role` });
    },
  };
}

/** Reads the certificate authority in a flag's file, in PEM; an invalid one goes to `faults`. */
export async function readAuthority(
  name: string,
  file: string | undefined,
  faults: ConfigurationFault[],
): Promise<string | undefined> {
  if (file === undefined || file === "") return undefined;
  try {
    const pem = await readSmallFile(file, MAX_AUTHORITY_BYTES);
    if (hasCertificate(pem)) return pem;
    faults.push({ name, message: `${file} has no certificate in PEM` });
  } catch (error) {
    faults.push({ name, message: `${file} ${describeFileError(error)}` });
  }
  return undefined;
}

function hasCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

const MAX_AUTHORITY_BYTES = 1024 * 1024;
