import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Apis } from "#clouds/openstack/apis.ts";
import { listPorts } from "#clouds/openstack/list-ports.ts";
import { addPorts } from "#clouds/openstack/list-servers.ts";
import { type Server, ServerAnswer } from "#clouds/openstack/server.ts";
import { fault, ok } from "#clouds/outcome.ts";

/**
 * Reads one server and its ports by id; undefined only if Nova itself says that it does not exist. Ports are
 * read in any case, so that the duration does not tell a foreign server from a missing one.
 */
export async function readServer(
  apis: Apis,
  { id, project }: { readonly id: string; readonly project: string },
  callContext: CallContext,
): Promise<Outcome<Server | undefined>> {
  const template = "GET /servers/{id}";
  const [answer, ports] = await Promise.all([
    apis.get("compute", { operation: "servers_get", template, path: `/servers/${id}` }, callContext),
    listPorts(apis, { project, servers: [id] }, callContext),
  ]);
  if (answer.kind === "fault") {
    const { status, errorId } = answer.fault;
    return status === 404 && errorId === "itemNotFound" ? ok(undefined) : answer;
  }
  const parsed = ServerAnswer.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a server`);
  const { server } = parsed.data;
  if (server.id !== id)
    return fault("Unavailable", `${template}: asked for ${id}, the answer is server ${server.id}`);
  return ports.kind === "fault" ? ports : ok(addPorts(server, ports.value.byServer));
}
