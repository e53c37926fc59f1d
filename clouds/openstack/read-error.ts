import * as z from "zod";
import type { ApiError } from "#clouds/http/classify.ts";
import { findMeaning } from "#clouds/http/error-meaning.ts";
import {
  KEYSTONE_ERROR_CODES,
  NEUTRON_ERROR_CODES,
  NOVA_ERROR_CODES,
} from "#clouds/openstack/error-codes.ts";

/** The format of Neutron's errors. */
const NeutronError = z.object({ NeutronError: z.object({ type: z.string(), message: z.string() }) });
/** The format of Keystone's errors. */
const KeystoneError = z.object({ error: z.object({ title: z.string(), message: z.string() }) });
/** The format of Nova's errors, whose key is the error's name. */
const NovaError = z.record(z.string().regex(/^[a-z][A-Za-z]+$/), z.object({ message: z.string() }));

/** Reads OpenStack's own error from the body of an answer; undefined for any other body. */
export function readError(body: unknown): ApiError | undefined {
  const neutron = NeutronError.safeParse(body).data?.NeutronError;
  if (neutron !== undefined)
    return {
      id: neutron.type,
      message: neutron.message,
      meaning: findMeaning(NEUTRON_ERROR_CODES, neutron.type),
    };
  const keystone = KeystoneError.safeParse(body).data?.error;
  if (keystone !== undefined)
    return {
      id: keystone.title,
      message: keystone.message,
      meaning: findMeaning(KEYSTONE_ERROR_CODES, keystone.title),
    };
  const [nova, ...more] = Object.entries(NovaError.safeParse(body).data ?? {});
  if (nova === undefined || more.length > 0) return undefined;
  const [id, { message }] = nova;
  return { id, message, meaning: findMeaning(NOVA_ERROR_CODES, id) };
}
