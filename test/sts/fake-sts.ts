import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { parseAuthorization } from "#emulators/ec2/credentials.ts";
import { createFault, type Fault, isFault } from "#emulators/ec2/fault.ts";
import { type Parameters, parseParameters } from "#emulators/ec2/parameters.ts";
import { renderAnswer, renderFault } from "#emulators/ec2/protocol.ts";
import type { XmlContent } from "#emulators/ec2/xml.ts";
import { buildAwsClaims } from "#test/issuer/aws-claims.ts";
import type { LocalIssuer } from "#test/issuer/local-issuer.ts";
import { isSignedWith } from "#test/sts/is-signed-with.ts";

/** One call, with its result. */
export interface StsCall {
  readonly action: string;
  /** The caller's role; undefined for the process's own keys. */
  readonly roleArn: string | undefined;
  /** The region of the requested endpoint. */
  readonly region: string;
  /** `OK`, or AWS's code. */
  readonly code: string;
}

/**
 * Answers of STS that emulators lack: an issuer's tokens for any caller, and the signer of a presigned URL.
 */
export interface FakeSts {
  /** For AWS_ENDPOINT_URL_STS. */
  readonly url: string;
  /** Roles that cannot be assumed. */
  readonly refusedRoles: Set<string>;
  /** Overrides the requested duration of tokens, so that they expire during a test. */
  tokenSeconds: number | undefined;
  /** Faults of actions, by action. */
  readonly faults: Map<string, Fault>;
  calls(action?: string): readonly StsCall[];
  /** Returns the identity in the answer to a presigned GetCallerIdentity with these headers, or the fault. */
  callerOf(url: URL, headers: Readonly<Record<string, string>>, now: number): Promise<string | Fault>;
  close(): Promise<void>;
}

/** Keys of the process itself, and their owner. */
export const OWN_KEYS = { accessKeyId: "AKIAOWN", secretAccessKey: "own-secret" } as const;
export const OWN_ROLE = "arn:aws:iam::123456789012:role/serverless-ccm-process";

interface Session {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly roleArn: string;
}

/** Starts it on a free port of 127.0.0.1; `issuer` signs the tokens. */
export async function startFakeSts(issuer?: Pick<LocalIssuer, "sign">): Promise<FakeSts> {
  const sessions = new Map<string, Session>([[OWN_KEYS.accessKeyId, { ...OWN_KEYS, roleArn: OWN_ROLE }]]);
  const calls: StsCall[] = [];
  const refusedRoles = new Set<string>();
  const faults = new Map<string, Fault>();

  function assumeRole(parameters: Parameters): Answered {
    const roleArn = parameters.text("RoleArn") ?? "";
    if (refusedRoles.has(roleArn))
      return createFault(
        "AccessDenied",
        `User: ${OWN_ROLE} is not authorized to perform: sts:AssumeRole on resource: ${roleArn}`,
        403,
      );
    const accessKeyId = `ASIA${String(sessions.size).padStart(12, "0")}`;
    sessions.set(accessKeyId, { accessKeyId, secretAccessKey: `secret-of-${accessKeyId}`, roleArn });
    return {
      Credentials: {
        AccessKeyId: accessKeyId,
        SecretAccessKey: `secret-of-${accessKeyId}`,
        SessionToken: `session-of-${accessKeyId}/+=`,
        Expiration: new Date(Date.now() + 3_600_000).toISOString(),
      },
      AssumedRoleUser: { Arn: sessionArn(roleArn), AssumedRoleId: "AROALOCAL:local" },
    };
  }

  function getWebIdentityToken(parameters: Parameters, { roleArn }: Session, region: string): Answered {
    const audiences = parameters.list("Audience.member");
    const algorithm = parameters.text("SigningAlgorithm");
    const durationSeconds = Number(parameters.text("DurationSeconds") ?? 300);
    if (audiences.length < 1 || audiences.length > 10)
      return createFault("ValidationError", "1 to 10 audiences");
    if (algorithm !== "RS256" && algorithm !== "ES384")
      return createFault("ValidationError", "SigningAlgorithm");
    if (!(durationSeconds >= 60 && durationSeconds <= 3_600))
      return createFault("ValidationError", "DurationSeconds must be from 60 to 3600");
    if (issuer === undefined) return createFault("InternalError", "no issuer is set", 500);
    const seconds = sts.tokenSeconds ?? durationSeconds;
    const claims = buildAwsClaims({ roleArn, audiences, durationSeconds: seconds, region });
    return {
      WebIdentityToken: issuer.sign(claims, { algorithm }),
      Expiration: new Date(Number(claims["exp"]) * 1_000).toISOString(),
    };
  }

  function answer(headers: IncomingHttpHeaders, parameters: Parameters): Answered {
    const action = parameters.text("Action") ?? "";
    const credential = parseAuthorization(headers.authorization);
    if (isFault(credential)) return credential;
    const session = sessions.get(credential.accessKeyId);
    const { region } = credential;
    const answered = (): Answered => {
      if (session === undefined)
        return createFault(
          "InvalidClientTokenId",
          "The security token included in the request is invalid",
          403,
        );
      const broken = faults.get(action);
      if (broken !== undefined) return broken;
      if (action === "AssumeRole") return assumeRole(parameters);
      if (action === "GetWebIdentityToken") return getWebIdentityToken(parameters, session, region);
      return createFault("InvalidAction", `${action} is unknown`);
    };
    const content = answered();
    const roleArn = session?.roleArn === OWN_ROLE ? undefined : session?.roleArn;
    calls.push({ action, roleArn, region, code: isFault(content) ? content.code : "OK" });
    return content;
  }

  const server = createServer(async (request, response) => {
    const parameters = parseParameters(await text(request));
    const content = answer(request.headers, parameters);
    const body = isFault(content)
      ? renderFault("sts", content, "r-1")
      : renderAnswer("sts", parameters.text("Action") ?? "", { kind: "answer", content, results: 1 }, "r-1");
    response.writeHead(isFault(content) ? content.status : 200, { "content-type": "text/xml" });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  const sts: FakeSts = {
    tokenSeconds: undefined,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refusedRoles,
    faults,
    calls: (action) => calls.filter((call) => action === undefined || call.action === action),
    async callerOf(url, headers, now) {
      const [accessKeyId = ""] = (url.searchParams.get("X-Amz-Credential") ?? "").split("/");
      const session = sessions.get(accessKeyId);
      if (session === undefined) return createFault("InvalidClientTokenId", "unknown key", 403);
      if (!(await isSignedWith(url, headers, session)))
        return createFault("SignatureDoesNotMatch", "it does not match", 403);
      if (now - parseDate(url) >= VALID_MS) return createFault("ExpiredToken", "Signature expired", 403);
      return sessionArn(session.roleArn);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return sts;
}

type Answered = { readonly [name: string]: XmlContent } | Fault;

/** STS accepts a signature of GetCallerIdentity for this long after its date. */
const VALID_MS = 15 * 60_000;

/** Returns the date of a presigned URL, in milliseconds since the epoch. */
export function parseDate(url: URL): number {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(url.searchParams.get("X-Amz-Date") ?? "") ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

function sessionArn(roleArn: string): string {
  const [, account, role] = /^arn:aws:iam::(\d{12}):role\/(?:.*\/)?([^/]+)$/.exec(roleArn) ?? [];
  return `arn:aws:sts::${account}:assumed-role/${role}/session`;
}
