import { ConfigurationError } from "#cli/configuration-error.ts";
import {
  findFileFault,
  readCertificateFile,
  readKeyPairFiles,
  readTokenFile,
} from "#cli/credential-files.ts";
import { SERVABLE_FUNCTIONS, WEBHOOK_KEYS } from "#cli/functions/served-functions.ts";
import { checkFunctionAccess } from "#cli/relay/function-access.ts";
import {
  FUNCTION_FLAGS,
  type FunctionFlags,
  readFunctionNames,
  selectFunctionFlags,
} from "#cli/relay/function-names.ts";
import { readPort } from "#cli/relay/serving-settings.ts";
import type { Environment } from "#clouds/provider.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import type { AuthenticationOptions, OidcOptions } from "#platforms/http/authentication.ts";
import { isLoopback } from "#platforms/http/protocol.ts";
import type { ReadServerTls } from "#platforms/http/server-tls.ts";

/** The flags of `functions`, as typed. */
export interface FunctionsFlags extends FunctionFlags {
  readonly bindAddress: string;
  readonly port?: string | undefined;
  readonly functions?: string | undefined;
  readonly concurrency: string;
  readonly tokenFile?: string | undefined;
  readonly oidcIssuerUrl?: string | undefined;
  readonly oidcAudience?: string | undefined;
  readonly oidcSubjects?: string | undefined;
  readonly oidcCaFile?: string | undefined;
  readonly tlsCertFile?: string | undefined;
  readonly tlsPrivateKeyFile?: string | undefined;
  readonly clientCaFile?: string | undefined;
  readonly clientSubjects?: string | undefined;
  readonly behindTlsProxy?: boolean | undefined;
}

/** What `functions` serves, and to whom. */
export interface FunctionsSettings {
  readonly bindAddress: string;
  readonly port: number;
  readonly functions: readonly string[];
  readonly concurrency: number;
  /** Undefined only on a loopback address. */
  readonly authentication: AuthenticationOptions | undefined;
  readonly readTls: ReadServerTls | undefined;
  /** How the sweep and `ec2-events` invoke the other functions; undefined: in this process. */
  readonly invoked: FunctionFlags | undefined;
}

/** Reads the settings of `functions`; throws `ConfigurationError` with every fault. */
export async function readFunctionsSettings(
  flags: FunctionsFlags,
  environment: Environment,
): Promise<FunctionsSettings> {
  const faults: ConfigurationFault[] = [];
  const { bindAddress, tokenFile, clientCaFile } = flags;
  const oidc = await readOidc(flags, faults);
  const readTls = await readTlsFiles(flags, faults);
  const clientSubjects = readClientSubjects(flags, faults);
  const tokenFault =
    tokenFile === undefined ? undefined : await findFileFault(() => readTokenFile(tokenFile));
  if (tokenFault !== undefined) faults.push({ name: "--token-file", message: tokenFault });
  const hasBearer = tokenFile !== undefined || oidc !== undefined;
  const isAuthenticated = hasBearer || clientCaFile !== undefined;
  if (!isLoopback(bindAddress) || flags.behindTlsProxy === true)
    checkExposure(flags, { hasBearer, isAuthenticated }, faults);
  if (environment["CLUSTERS_FILE"] === undefined)
    faults.push({
      name: "$CLUSTERS_FILE",
      message: "is not set: it names the file of clusters, or the path of their parameters",
    });
  const settings: FunctionsSettings = {
    bindAddress,
    port: readPort(flags.port ?? (environment["PORT"] || DEFAULT_PORT), faults),
    functions: readFunctionList(flags.functions, environment, faults),
    concurrency: readConcurrency(flags.concurrency, faults),
    authentication: isAuthenticated
      ? {
          ...(tokenFile === undefined ? {} : { readTokens: () => readTokenFile(tokenFile) }),
          oidc,
          clientSubjects,
        }
      : undefined,
    readTls,
    invoked: await readInvoked(flags, environment, faults),
  };
  if (faults.length > 0) throw new ConfigurationError(faults);
  return settings;
}

/** The port that platforms for containers expect, which set `$PORT` otherwise. */
const DEFAULT_PORT = "8080";

/** Other machines reach the functions only with a credential, and never over a network in plain text. */
function checkExposure(
  { bindAddress, tlsCertFile, behindTlsProxy }: FunctionsFlags,
  { hasBearer, isAuthenticated }: { readonly hasBearer: boolean; readonly isAuthenticated: boolean },
  faults: ConfigurationFault[],
): void {
  const where = isLoopback(bindAddress)
    ? "others reach the functions through the proxy"
    : `"${sanitizeText(bindAddress)}" is not a loopback address`;
  if (!isAuthenticated)
    faults.push({
      name: "--bind-address",
      message: `${where}: give ${behindTlsProxy === true ? "--token-file or --oidc-issuer-url" : "--token-file, --oidc-issuer-url or --client-ca-file"}, so that not everyone can invoke functions`,
    });
  if (tlsCertFile === undefined && behindTlsProxy !== true)
    faults.push({
      name: "--bind-address",
      message: `${where}: give --tls-cert-file, or --behind-tls-proxy if only a proxy that terminates TLS reaches it`,
    });
  if (tlsCertFile === undefined && behindTlsProxy === true && isAuthenticated && !hasBearer)
    faults.push({
      name: "--behind-tls-proxy",
      message: "a proxy hides client certificates: give --token-file or --oidc-issuer-url",
    });
}

async function readOidc(
  flags: FunctionsFlags,
  faults: ConfigurationFault[],
): Promise<OidcOptions | undefined> {
  const { oidcIssuerUrl: issuer, oidcAudience: audience, oidcCaFile } = flags;
  const subjects = splitList(flags.oidcSubjects);
  if (issuer === undefined) {
    const further = {
      "--oidc-audience": audience,
      "--oidc-subjects": flags.oidcSubjects,
      "--oidc-ca-file": oidcCaFile,
    };
    for (const [name, value] of Object.entries(further))
      if (value !== undefined) faults.push({ name, message: "is for --oidc-issuer-url, which is missing" });
    return undefined;
  }
  const url = URL.parse(issuer);
  if (url?.protocol !== "https:" || url.search !== "" || url.hash !== "" || url.username !== "")
    faults.push({ name: "--oidc-issuer-url", message: "is not an https URL without query and credentials" });
  if (!audience)
    faults.push({ name: "--oidc-audience", message: "is missing: give the audience of the ID tokens" });
  if (subjects.length === 0)
    faults.push({
      name: "--oidc-subjects",
      message: "is missing: give the subjects that may invoke functions",
    });
  const read = oidcCaFile === undefined ? undefined : () => readCertificateFile(oidcCaFile);
  const fault = read && (await findFileFault(read));
  if (fault !== undefined) faults.push({ name: "--oidc-ca-file", message: fault });
  const certificateAuthority = fault === undefined ? await read?.() : undefined;
  return { issuer, audience: audience ?? "", subjects, certificateAuthority };
}

async function readTlsFiles(
  { tlsCertFile, tlsPrivateKeyFile, clientCaFile, behindTlsProxy }: FunctionsFlags,
  faults: ConfigurationFault[],
): Promise<ReadServerTls | undefined> {
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined)) {
    faults.push({ name: "--tls-cert-file", message: "give it and --tls-private-key-file, both or neither" });
    return undefined;
  }
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined) {
    if (clientCaFile !== undefined)
      faults.push({
        name: "--client-ca-file",
        message: "needs --tls-cert-file: certificates are part of TLS",
      });
    return undefined;
  }
  if (behindTlsProxy === true)
    faults.push({
      name: "--behind-tls-proxy",
      message: "is for plain HTTP: leave it out, or --tls-cert-file",
    });
  const read: ReadServerTls = async () => ({
    ...(await readKeyPairFiles(tlsCertFile, tlsPrivateKeyFile)),
    ...(clientCaFile === undefined ? {} : { ca: await readCertificateFile(clientCaFile) }),
  });
  const fault = await findFileFault(read);
  if (fault !== undefined) faults.push({ name: "--tls-cert-file", message: fault });
  return read;
}

function readClientSubjects(
  { clientCaFile, clientSubjects }: FunctionsFlags,
  faults: ConfigurationFault[],
): readonly string[] | undefined {
  if (clientCaFile === undefined) {
    if (clientSubjects !== undefined)
      faults.push({ name: "--client-subjects", message: "is for --client-ca-file, which is missing" });
    return undefined;
  }
  const subjects = splitList(clientSubjects);
  if (subjects.length === 0)
    faults.push({
      name: "--client-subjects",
      message:
        "is missing: give the common names, DNS:NAME or URI:URI of certificates that may invoke functions",
    });
  return subjects;
}

/** Without a list, a webhook is served if the environment has its keys. */
function readFunctionList(
  text: string | undefined,
  environment: Environment,
  faults: ConfigurationFault[],
): readonly string[] {
  const isWithoutKeys = (name: string): boolean => {
    const variable = WEBHOOK_KEYS[name];
    return variable !== undefined && !environment[variable];
  };
  if (text === undefined) return SERVABLE_FUNCTIONS.filter((name) => !isWithoutKeys(name));
  const names = [...new Set(splitList(text))];
  const unknown = names.filter((name) => !SERVABLE_FUNCTIONS.includes(name));
  if (unknown.length > 0 || names.length === 0)
    faults.push({
      name: "--functions",
      message: `${unknown.map((name) => `"${sanitizeText(name)}"`).join(", ") || "nothing"} is not a function; give some of ${SERVABLE_FUNCTIONS.join(", ")}`,
    });
  for (const name of names.filter(isWithoutKeys))
    faults.push({
      name: `$${WEBHOOK_KEYS[name]}`,
      message: `is not set: the function ${name} needs the public key that \`infra\` prints for it`,
    });
  return names;
}

const MAX_CONCURRENCY = 1_000;

function readConcurrency(text: string, faults: ConfigurationFault[]): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= 1 && count <= MAX_CONCURRENCY) return count;
  faults.push({
    name: "--concurrency",
    message: `"${sanitizeText(text)}" is not a number of 1 to ${MAX_CONCURRENCY}`,
  });
  return Number.NaN;
}

/** Reads how the sweep invokes functions that other processes serve. */
async function readInvoked(
  flags: FunctionsFlags,
  environment: Environment,
  faults: ConfigurationFault[],
): Promise<FunctionFlags | undefined> {
  if (flags.functionUrl === undefined) {
    for (const { key, flag, of } of FUNCTION_FLAGS)
      if (of === "http" && flags[key] !== undefined)
        faults.push({ name: flag, message: "is for --function-url, which is missing" });
    return undefined;
  }
  const invoked: FunctionFlags = { ...selectFunctionFlags(flags), platform: "http" };
  readFunctionNames(invoked, faults);
  await checkFunctionAccess(invoked, environment, faults);
  return invoked;
}

function splitList(text: string | undefined): readonly string[] {
  return (text ?? "").split(",").flatMap((each) => each.trim() || []);
}
