import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import {
  type EntryComments,
  rewriteConfiguration,
  writeConfiguration,
} from "#cli/infra/authentication-yaml.ts";
import { type OidcCommandFlags, readOidcFlags, type TranslatedOidcFlags } from "#cli/infra/oidc-flags.ts";
import { readServerVersion, type ServerVersionFlags } from "#cli/infra/server-version.ts";
import { readTrusts, type TrustFlags } from "#cli/infra/trust-flags.ts";
import type { Environment } from "#clouds/provider.ts";
import { checkWriting } from "#config/describe-errors.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { parseYaml } from "#config/yaml-text.ts";
import { AuthenticationConfiguration, listUnknownKeys } from "#core/authentication/configuration.ts";
import { configure } from "#core/authentication/configure.ts";
import type { Trust } from "#core/authentication/trust.ts";
import { formatPath } from "#core/config-errors.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

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
      `${existing.file}: ${sanitizeText(key)} is no key that kube-apiserver 1.37 knows, and is kept as it is`,
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
