import { Agent, request } from "node:https";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { getConnectOptions } from "#test/access.ts";

/** Posts as any named user with an administrator's rights: thousands of identities over a few connections. */
export interface Impersonator {
  post(
    path: string,
    body: unknown,
    user: string,
    group: string,
  ): Promise<{ readonly status: number; readonly body: string }>;
  close(): void;
}

export async function createImpersonator(plane: ControlPlane): Promise<Impersonator> {
  const { certificateAuthority: ca, authorization } = await getConnectOptions(plane, "admin");
  const bearer = await authorization?.();
  if (bearer === undefined) throw new Error("the administrator has no token");
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 16 });
  return {
    post: (path, body, user, group) =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: bearer,
          "content-type": "application/json",
          "impersonate-user": user,
          "impersonate-group": group,
        };
        const sent = request(`${plane.server}${path}`, { agent, method: "POST", headers }, async (answer) => {
          let text = "";
          for await (const chunk of answer.setEncoding("utf8")) text += chunk;
          resolve({ status: answer.statusCode ?? 0, body: text });
        });
        sent.on("error", reject);
        sent.end(JSON.stringify(body));
      }),
    close: () => agent.destroy(),
  };
}
