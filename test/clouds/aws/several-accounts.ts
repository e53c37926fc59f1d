import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { parseAuthorization } from "#emulators/ec2/credentials.ts";
import { isFault } from "#emulators/ec2/fault.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import type { Zone } from "#emulators/ec2/zone.ts";

/**
 * One endpoint for several accounts, each with its own instances, zones and IDs: two accounts may have the
 * same ID.
 */
export interface SeveralAccounts {
  /** For AWS_ENDPOINT_URL_EC2 and AWS_ENDPOINT_URL_STS. */
  readonly url: string;
  /** Keyed by account number. */
  readonly accounts: ReadonlyMap<string, Ec2Server>;
  /** Returns the number of calls with credentials of no account. */
  strangers(): number;
  close(): Promise<void>;
}

/** Starts the endpoint; the assumed role determines the caller's account. */
export async function startSeveralAccounts(
  zonesByAccount: Readonly<Record<string, readonly Zone[]>>,
): Promise<SeveralAccounts> {
  const accounts = new Map<string, Ec2Server>();
  for (const [account, zones] of Object.entries(zonesByAccount))
    accounts.set(account, await startEc2({ account, zones }));
  const byKey = new Map<string, Ec2Server>();
  let strangers = 0;
  let assuming: Promise<unknown> = Promise.resolve();

  /**
   * Each account counts its sessions, and two must not give out the same key: every account is asked, one
   * after the other.
   */
  function assumeRole(request: IncomingMessage, body: string, owner: Ec2Server | undefined) {
    const turn = assuming.then(async () => {
      const answers = [];
      for (const server of accounts.values())
        answers.push({ server, answer: await forward(server, request, body) });
      const own = answers.find(({ server }) => server === owner)?.answer;
      const [, key] = /<AccessKeyId>([^<]+)</.exec(own?.body ?? "") ?? [];
      if (key !== undefined && owner !== undefined) byKey.set(key, owner);
      return own;
    });
    assuming = turn;
    return turn;
  }

  const http = createServer(async (request, response) => {
    const body = await text(request);
    const parameters = new URLSearchParams(body);
    const role = parameters.get("RoleArn")?.split(":")[4] ?? "";
    const credential = parseAuthorization(request.headers.authorization);
    const caller = isFault(credential) ? undefined : byKey.get(credential.accessKeyId);
    const answer =
      parameters.get("Action") === "AssumeRole"
        ? await assumeRole(request, body, accounts.get(role))
        : caller && (await forward(caller, request, body));
    if (answer === undefined) strangers += 1;
    response.writeHead(answer?.status ?? 403, { "content-type": "text/xml" });
    response.end(answer?.body);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    accounts,
    strangers: () => strangers,
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      for (const server of accounts.values()) await server.close();
    },
  };
}

async function forward(server: Ec2Server, { headers }: IncomingMessage, body: string) {
  const { authorization = "", "content-type": contentType = "" } = headers;
  const answer = await fetch(server.url, {
    method: "POST",
    headers: { authorization, "content-type": contentType },
    body,
  });
  return { status: answer.status, body: await answer.text() };
}
