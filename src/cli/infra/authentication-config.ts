import * as z from "zod";
import { ConfigurationError } from "#cli/configuration-error.ts";
import {
  type EntryComments,
  rewriteConfiguration,
  writeConfiguration,
} from "#cli/infra/authentication-yaml.ts";
import { readAuthority, readTrusts, type TrustFlags } from "#cli/infra/trust-flags.ts";
import { readAccess } from "#cli/settings/cluster-settings.ts";
import type { Environment } from "#clouds/provider.ts";
import { checkWriting } from "#config/describe-errors.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { parseYaml } from "#config/yaml-text.ts";
import {
  AuthenticationConfiguration,
  FIRST_BETA_MINOR,
  getApiVersion,
  type JwtAuthenticator,
  listUnknownKeys,
} from "#core/authentication/configuration.ts";
import { configure, type ServerVersion } from "#core/authentication/configure.ts";
import { type OidcFlags, translateOidcFlags } from "#core/authentication/oidc-flags.ts";
import type { Trust } from "#core/authentication/trust.ts";
import { type ConfigurationFault, formatPath } from "#core/config-errors.ts";
import { parseJson } from "#core/parse-json.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import { connect } from "#kube/client/connect.ts";

export interface AuthenticationConfigFlags extends TrustFlags, OidcCommandFlags, ServerVersionFlags {
  /** An existing file whose other entries are kept. */
  readonly merge?: string | undefined;
}

/**
 * Prints the file with which an API server accepts the tokens of our roles. Throws `ConfigurationError` with
 * every fault; `note` receives what a person should check.
 */
export async function printAuthenticationConfig(
  flags: AuthenticationConfigFlags,
  environment: Environment,
  print: (text: string) => void,
  note: (line: string) => void,
): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const translated = await readOidcFlags(flags, faults);
  // Flags may be translated alone, without a role of ours.
  const isOurs = translated === undefined || TRUST_FLAGS.some((key) => flags[key] !== undefined);
  const trusts = isOurs ? await readTrusts(flags, faults) : [];
  const existing = flags.merge === undefined ? undefined : await readExisting(flags.merge, faults);
  const kubeconfig = flags.kubeconfig ?? environment["KUBECONFIG"];
  const server = await readServerVersion({ ...flags, kubeconfig }, faults);
  if (faults.length > 0 || server === undefined) throw new ConfigurationError(faults);

  const configured = configure(existing?.value, { server, trusts, translated: translated?.entry });
  if (configured.kind === "faults") {
    const place = (path: string): string => (existing === undefined ? path : `${existing.file}: ${path}`);
    throw new ConfigurationError(
      configured.faults.map(({ path, message }) => ({
        name: place(path),
        message: sanitizeText(message, 512),
      })),
    );
  }
  const comments = buildComments(trusts, translated);
  if (existing === undefined) {
    print(writeConfiguration(configured.configuration, comments));
    return;
  }
  for (const key of existing.unknownKeys)
    note(
      `${existing.file}: ${sanitizeText(key)} is not a key that kube-apiserver 1.37 knows, and is kept as it is`,
    );
  const text = rewriteConfiguration(existing.text, configured.configuration, comments);
  if (text === undefined) throw new ConfigurationError([{ name: existing.file, message: BY_HAND }]);
  print(text);
}

const TRUST_FLAGS = [
  "issuer",
  "role",
  "rolesFrom",
  "clusterName",
  "audience",
  "maxTokenLifetime",
  "discoveryUrl",
  "certificateAuthority",
  "egressSelector",
] as const satisfies readonly (keyof TrustFlags)[];

const BY_HAND = "has anchors and aliases that share what would differ; write them out, and try again";

/** The size of 64 issuers with their certificate authorities. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

interface ExistingFile {
  readonly file: string;
  readonly text: string;
  readonly value: AuthenticationConfiguration;
  readonly unknownKeys: readonly string[];
}

async function readExisting(file: string, faults: ConfigurationFault[]): Promise<ExistingFile | undefined> {
  const fault = (message: string, place = file): undefined => {
    faults.push({ name: `--merge ${place}`, message });
  };
  let text: string;
  try {
    text = await readSmallFile(file, MAX_FILE_BYTES);
  } catch (error) {
    return fault(describeFileError(error));
  }
  // A shell empties the file that it redirects to before the program can read it.
  if (text.trim() === "") return fault("is empty; print to another file, and move that into its place");
  const parsed = parseYaml(text);
  if (parsed.kind === "faults") {
    for (const { line, column, message } of parsed.faults)
      fault(message, line === undefined ? file : `${file}:${line}:${column}`);
    return undefined;
  }
  const checked = checkWriting(AuthenticationConfiguration, parsed.value);
  if (checked.kind === "valid") {
    const unknownKeys = listUnknownKeys(parsed.value).map(formatPath);
    return { file, text, value: checked.value, unknownKeys };
  }
  for (const { path, message } of checked.faults) {
    const { line, column } = parsed.positionOf(path);
    fault(message, `${file}:${line}:${column}: ${formatPath(path)}`);
  }
  return undefined;
}

function buildComments(trusts: readonly Trust[], translated: TranslatedOidcFlags | undefined): EntryComments {
  const comments = new Map<string, readonly string[]>();
  if (translated !== undefined)
    comments.set(translated.entry.issuer.url, ["Translated from the flags --oidc-*.", ...translated.notes]);
  for (const { issuer } of trusts)
    comments.set(issuer.url, ["serverless-ccm: IAM roles as its users.", ...listEndpoints(issuer.url)]);
  return comments;
}

/** Lists the endpoints that an API server must reach for an issuer's keys. */
function listEndpoints(issuerUrl: string): readonly string[] {
  return [
    "For the keys kube-apiserver asks, over https and from where it runs itself:",
    `  ${issuerUrl.replace(/\/$/, "")}/.well-known/openid-configuration, or discoveryURL if that is set;`,
    "  and the jwks_uri in that document.",
    "It asks as it starts, every 10 s until it is answered (no token is taken until then), and whenever a key is new to it. HTTPS_PROXY",
    "counts; the egress selector does not, but by egressSelectorType (Kubernetes 1.34 and later).",
  ];
}

/** kube-apiserver's own flags, by the names on the command line. */
interface OidcCommandFlags {
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
interface TranslatedOidcFlags {
  readonly entry: JwtAuthenticator;
  readonly notes: readonly string[];
}

/** Translates `--oidc-*` flags to an entry; undefined without such flags. */
async function readOidcFlags(
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

interface ServerVersionFlags {
  /** A version such as `1.36` or `v1.36.3`. */
  readonly serverVersion?: string | undefined;
  readonly kubeconfig?: string | undefined;
}

/** Reads the version from a flag, or from the API server of a kubeconfig; problems go to `faults`. */
async function readServerVersion(
  { serverVersion, kubeconfig }: ServerVersionFlags,
  faults: ConfigurationFault[],
): Promise<ServerVersion | undefined> {
  if (serverVersion !== undefined) return parseServerVersion(FLAG, serverVersion, faults);
  if (kubeconfig === undefined) {
    const message = "is missing: give it, such as 1.36, or --kubeconfig, to ask the API server";
    faults.push({ name: FLAG, message });
    return undefined;
  }
  const access = await readAccess("--kubeconfig", kubeconfig, faults);
  // No API server is asked if the file cannot be built anyway.
  if (access === undefined || faults.length > 0) return undefined;
  const transport = connect(access);
  try {
    const answer = await transport.send({
      method: "GET",
      path: "/version",
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    const version = Version.safeParse(parseJson(answer.body)).data;
    if (answer.status === 200 && version !== undefined)
      return parseServerVersion(`the API server ${access.server}`, version.gitVersion, faults);
    const said = classifyAnswer(answer);
    const words = "message" in said ? said.message : `${answer.status}: no version`;
    throw new Error(`${access.server} does not say its version: ${words}; give ${FLAG}`);
  } finally {
    await transport.close();
  }
}

const FLAG = "--server-version";

const ANSWER_TIMEOUT_MS = 20_000;

const Version = z.object({ gitVersion: z.string() });

function parseServerVersion(
  name: string,
  text: string,
  faults: ConfigurationFault[],
): ServerVersion | undefined {
  const digits = /^v?1\.(\d{1,3})(?:[.+-].*)?$/.exec(text)?.[1];
  if (digits === undefined) {
    faults.push({
      name,
      message: `"${sanitizeText(text, 64)}" is not a version of Kubernetes; one is 1.36 or v1.36.3`,
    });
    return undefined;
  }
  const minor = Number(digits);
  const apiVersion = getApiVersion(minor);
  if (apiVersion !== undefined) return { minor, apiVersion };
  const message = `1.${minor} takes no AuthenticationConfiguration: it is beta, and on, since 1.${FIRST_BETA_MINOR}`;
  faults.push({ name, message });
  return undefined;
}
