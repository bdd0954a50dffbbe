/** What we call ourselves before the server; the version of the Emissary that this client was written with. */
export const VERSION = "0.1.0";
