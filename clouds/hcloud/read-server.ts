import { type Server, ServerAnswer } from "#clouds/hcloud/server.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/**
 * Reads one server by id; undefined only if Hetzner itself says that it does not exist. A 404 with any other
 * body, as from a proxy or a wrong `endpoint`, is a fault.
 */
export async function readServer(
  api: Api,
  id: string,
  callContext: CallContext,
): Promise<Outcome<Server | undefined>> {
  const template = "GET /servers/{id}";
  const answer = await api.get({ operation: "servers_get", template, path: `/servers/${id}` }, callContext);
  if (answer.kind === "fault") {
    const { status, errorId } = answer.fault;
    return status === 404 && errorId === "not_found" ? ok(undefined) : answer;
  }
  const parsed = ServerAnswer.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a server`);
  if (parsed.data.server.id === id) return ok(parsed.data.server);
  return fault("Unavailable", `${template}: asked for ${id}, the answer is server ${parsed.data.server.id}`);
}
