import {
  findFileFault,
  isToken,
  readCertificateFile,
  readKeyPairFiles,
  readTokenFile,
} from "#cli/credential-files.ts";
import type { FunctionFlags, FunctionNames } from "#cli/relay/function-names.ts";
import type { Environment } from "#clouds/provider.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { keepFresh } from "#platforms/keep-fresh.ts";
import type { CallerTls, FunctionAccess, FunctionPlatform, PlatformInvoker } from "#platforms/platform.ts";

/** Files are read again after this time, so that a rotated token or certificate counts soon. */
const FILES_AGE_MS = 10_000;

/** The environment variable with a token, for those who have no file. */
const TOKEN_VARIABLE = "FUNCTION_TOKEN";

/** Creates the access to functions over HTTP, whose flags were checked. Files are read when they are needed. */
export function createFunctionAccess(flags: FunctionFlags, environment: Environment): FunctionAccess {
  const { functionTokenFile: file } = flags;
  const token = environment[TOKEN_VARIABLE] || undefined;
  const fromFile =
    file === undefined
      ? undefined
      : keepFresh(async () => ({ value: (await readTokenFile(file, 1))[0] }), { maxAgeMs: FILES_AGE_MS });
  const tls = keepFresh(async () => ({ value: await readTls(flags) }), { maxAgeMs: FILES_AGE_MS });
  return {
    async authorization(options) {
      const sent = fromFile === undefined ? token : await fromFile.get(options);
      return sent === undefined ? undefined : `Bearer ${sent}`;
    },
    readTls: () => tls.get(),
  };
}

/**
 * The limit of sockets to the platform. Each cluster's own limits bound what is in flight, and clusters come and
 * go.
 */
const MAX_SOCKETS = 10_000;

/** The deployed functions that a process invokes. */
export interface InvokedFunctions {
  readonly flags: FunctionFlags;
  readonly functionName: FunctionNames;
  readonly platform: FunctionPlatform;
  readonly region: string | undefined;
}

/** Creates the invoker of deployed functions, by flags that were checked. */
export function createFunctionInvoker(
  { flags, functionName, platform, region }: InvokedFunctions,
  environment: Environment,
): PlatformInvoker {
  const access = createFunctionAccess(flags, environment);
  return platform.createInvoker({ functionName, maxInFlight: MAX_SOCKETS, region, access });
}

/** Reads the files of the access once, and adds what is wrong with them. */
export async function checkFunctionAccess(
  flags: FunctionFlags,
  environment: Environment,
  faults: ConfigurationFault[],
): Promise<void> {
  const { functionTokenFile, functionCaFile, functionCertFile, functionKeyFile } = flags;
  const token = environment[TOKEN_VARIABLE] || undefined;
  const add = async (name: string, read: (() => Promise<unknown>) | false): Promise<void> => {
    const message = read ? await findFileFault(read) : undefined;
    if (message !== undefined) faults.push({ name, message });
  };
  if (functionTokenFile !== undefined && token !== undefined)
    faults.push({ name: "--function-token-file", message: `give it or $${TOKEN_VARIABLE}, one of the two` });
  if (token !== undefined && !isToken(token))
    faults.push({
      name: `$${TOKEN_VARIABLE}`,
      message: "is not a bearer token: it has spaces or other characters",
    });
  await add(
    "--function-token-file",
    functionTokenFile !== undefined && (() => readTokenFile(functionTokenFile, 1)),
  );
  await add(
    "--function-ca-file",
    functionCaFile !== undefined && (() => readCertificateFile(functionCaFile)),
  );
  if ((functionCertFile === undefined) !== (functionKeyFile === undefined))
    faults.push({
      name: "--function-cert-file",
      message: "give it and --function-key-file, both or neither",
    });
  else
    await add(
      "--function-cert-file",
      functionCertFile !== undefined &&
        functionKeyFile !== undefined &&
        (() => readKeyPairFiles(functionCertFile, functionKeyFile)),
    );
}

async function readTls({
  functionCaFile,
  functionCertFile,
  functionKeyFile,
}: FunctionFlags): Promise<CallerTls> {
  return {
    ...(functionCaFile === undefined ? {} : { ca: await readCertificateFile(functionCaFile) }),
    ...(functionCertFile === undefined || functionKeyFile === undefined
      ? {}
      : await readKeyPairFiles(functionCertFile, functionKeyFile)),
  };
}
