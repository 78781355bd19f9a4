/** Every limit of the product in one table. Bytes unless the name says otherwise; UTF-8 where text is meant. */
const KiB = 1024;
const MiB = 1024 * KiB;

export const LIMITS = {
  message: {
    textBytes: 64 * KiB,
    recipients: 128,
    attachments: 16,
    /** LIM-028 */
    clientIdBytes: 128,
    quoteBytes: 4 * KiB,
    insightBytes: 4 * KiB,
    refs: 32,
    refBytes: 2 * KiB,
  },
  attachment: {
    uploadBytes: 100 * MiB,
    nameBytes: 4096,
    mimeBytes: 256,
    /** Uploads that no message refers to are removed after this time. */
    orphanHours: 24,
    /** What such uploads may take together; a message with all the files it may have fits. */
    waitingBytes: 2048 * MiB,
    waitingBytesPerHome: 4096 * MiB,
    /** Bytes a caller may send before a pause of this length ends the upload. */
    stallSeconds: 60,
  },
  group: {
    perHome: 4096,
    /** How often a Group is tried again that a failure of the disk kept from opening. */
    reopenSeconds: 30,
    titleBytes: 1024,
    topicBytes: 4096,
    scopes: 64,
    actors: 256,
  },
  actor: {
    titleBytes: 1024,
    commandParts: 64,
    commandPartBytes: 8 * KiB,
    environmentEntries: 128,
    environmentValueBytes: 32 * KiB,
  },
  page: { max: 200, default: 50 },
  statuses: { events: 1000 },
  /** Events that the beginning of an id is told to mean. */
  eventPrefix: { found: 10 },
  /** What one look into an Actor's history may read of the ledger, by estimate, before it says where to go on. */
  history: { scanBytes: 64 * MiB },
  inbox: { waitSecondsMax: 50, waitSecondsDefault: 25, progressSeconds: 15, waitersPerActor: 16 },
  /** An Actor's session without an open connection ends this long after its last call. */
  actorSession: {
    idleSeconds: 90,
    perActor: 32,
    /** One that took messages and says nothing for so long is stalled, if anything of it is still open. */
    quietSeconds: 900,
  },
  ledger: {
    /** The active file is extended ahead in steps of this many bytes of line feeds. */
    extendBytes: 1 * MiB,
    /** The active file is sealed by itself when it passes this size. */
    segmentBytes: 64 * MiB,
    lineBytes: 1 * MiB,
    /** The author of an event, as an import may name it. */
    authorBytes: 512,
    /** Events of an import under one idempotency key; the ledger itself has one, and one more for every import on the way. */
    importedPerKey: 64,
    /** Bytes and lines that one write and its sync carry at most. */
    batchBytes: 1 * MiB,
    batchLines: 4096,
    /** A batch waits at most this long for company, and only after small batches. */
    gatherMicroseconds: 100,
    pendingBytes: 64 * MiB,
    searchScanBytes: 256 * MiB,
    /** So many bytes of a segment are searched line by line; more of them get a filter. */
    searchFilterBytes: 1 * MiB,
  },
  body: {
    /** Any JSON body that an operation takes. */
    jsonBytes: 1 * MiB,
    jsonDepth: 64,
    headerBytes: 16 * KiB,
    headerFields: 100,
    importBytes: 4096 * MiB,
    /** Of one line of an import. */
    importValues: 256 * 1024,
  },
  http: {
    requestSeconds: 30,
    keepAliveSeconds: 65,
    connections: 4096,
    /** Connections that may wait to be accepted; the kernel may keep this lower. */
    waiting: 4096,
    /** Failed authentications per address and minute before 429. */
    authFailuresPerMinute: 20,
    sessionDays: 30,
    /** Sessions of browsers; beyond, and where a new one finds no room among the access tokens, the oldest ends. */
    sessions: 256,
    /** Addresses whose failed authentications are counted at a time. */
    failingAddresses: 4096,
  },
  stream: {
    clients: 2048,
    /** Bytes that may wait for one slow client before it is told to resume and closed. */
    bufferBytes: 1 * MiB,
    heartbeatSeconds: 15,
    subscriptionsPerSocket: 64,
    inboundMessageBytes: 16 * KiB,
    resumeEvents: 10_000,
  },
  loginLink: { minutes: 5, live: 8 },
  accessToken: { perHome: 256, nameBytes: 128 },
  notices: { maxSeconds: 30 * 24 * 3600 },
  client: {
    /** How long the socket client waits for bytes of an answer; longer than any wait of an operation. */
    callSeconds: 600,
    /** After so long without an answer the client asks whether the daemon is alive at all, which then has this long to say so. */
    quietSeconds: 10,
    aliveSeconds: 5,
    /** What `svc doctor` and `svc daemon status` wait. */
    statusSeconds: 5,
    streamLineBytes: 4 * MiB,
    retryMillisecondsMax: 2000,
    /** How long, and how often, a daemon is tried whose queue of connections is full. */
    crowdedSeconds: 10,
    crowdedPauseMilliseconds: 20,
  },
  mcp: {
    toolListBytes: 16 * KiB,
    helpBytes: 4 * KiB,
    sessions: 256,
    sessionIdleSeconds: 3600,
    settleSeconds: 2,
  },
  /** The runtime activity channel (docs/protocol.md#activity-limits). */
  activity: {
    /** Records that one Group keeps. */
    records: 256,
    recordSeconds: 300,
    /** Ended activities that a fresh snapshot shows. */
    snapshotSeconds: 15,
    browser: { activeSeconds: 300, completedSeconds: 8, stuckSeconds: 60, records: 256 },
    hook: {
      payloadBytes: 1 * MiB,
      waitSeconds: 3,
      /** Of a path in a payload. */
      pathBytes: 4096,
      /** Events of one Actor that may wait for the disk. */
      pending: 256,
    },
    /** Ids that each fence remembers per Actor: used operations, seen turns, ended sessions, subagents. */
    remembered: { operations: 4096, turns: 256, sessions: 32, subagents: 256 },
    /** A working Actor whose terminal and hooks are silent this long isn't called working any more. */
    silenceSeconds: 120,
    /** The same for one of which only subagents work, in the background: their tools show nothing in its terminal. */
    subagentSilenceSeconds: 1800,
    /** A turn that is only assumed, because hooks don't tell of it, ends when the terminal is silent this long. */
    assumedSilenceSeconds: 10,
    /** An error on the screen of a Codex in a turn counts once terminal and hooks are silent this long: it draws all the time while it works. */
    errorSilenceSeconds: 2,
  },
  /** Terminals of Actors that the daemon runs. */
  terminal: {
    columns: 120,
    rows: 32,
    columnsMax: 500,
    rowsMax: 300,
    scrollbackLines: 5000,
    /** Output that may wait to be drawn on the daemon's own screen before the process waits. */
    backlogBytes: 8 * MiB,
    /** Output that a viewer may not have acknowledged; beyond it the viewer gets a fresh screen instead. */
    windowBytes: 512 * KiB,
    inputBytes: 64 * KiB,
    viewers: 32,
    /** A process that was told to end has this long before it is killed. */
    stopSeconds: 5,
  },
  prompt: {
    /** Messages of one prompt, and the bytes at which a batch ends. */
    messages: 20,
    batchBytes: 96 * KiB,
    /** After it was handed over, an idle runtime has this long to prove that it took a prompt. */
    evidenceSeconds: 20,
    /** A busy one queues it; after this long nothing is expected any more. */
    busySeconds: 3600,
    /** From then on a start without a sign of reading is called one. */
    readySeconds: 30,
    /** A start whose runtime doesn't list our tools gets its prompts without them from then on. */
    toolsSeconds: 15,
    /** After a key of a person, nothing is put into what they may be writing. */
    typingSeconds: 3,
    /** A paste that its input line doesn't show within this is never followed by Enter. */
    pasteSeconds: 10,
    /** A screen that decides whether a message goes in is looked at again at most this often. */
    lookMs: 100,
  },
  /** The daemon's log; one older file of this size stays beside it. */
  log: {
    fileBytes: 4 * MiB,
    linesShown: 10_000,
    /** Of one event; what is beyond is counted. */
    eventLinesPerMinute: 120,
  },
  direct: {
    relations: 64,
    /** Channels of approved connections. */
    channels: 64,
    /** Connections that haven't said an approved hello yet: of strangers in all, from one address, and with the key of one relation. */
    unadmitted: 16,
    unadmittedPerAddress: 4,
    unadmittedPerKey: 2,
    invitationMinutes: 30,
    invitationCharacters: 8192,
    frameBytes: 14 * MiB,
    /** JSON of a frame apart from its files and the message's text, and the values in it: what a catalog page can have. */
    jsonBytes: 2560 * KiB,
    jsonValues: 128 * 1024,
    /** What a frame adds to the answer that it carries. */
    frameShellBytes: 256,
    /** Answers to nothing that was asked, and pings in ten seconds, before the channel ends. */
    strayAnswers: 4,
    pings: 64,
    helloBytes: 8 * KiB,
    /** From the first byte of a connection to the answer to its hello. */
    handshakeSeconds: 10,
    /** For each frame. */
    writeSeconds: 10,
    idleReadSeconds: 45,
    pingSeconds: 10,
    /** Requests under way, each way. */
    requests: 4,
    redialSeconds: 5,
    /** A join that is still undecided past its deadline. */
    overdueRedialSeconds: 60,
    /** A status older than this says nothing. */
    statusFreshSeconds: 10,
    statusSeconds: 5,
    /** Ids of removed connections that are remembered. */
    retired: 4096,
    nameBytes: 512,
    titleBytes: 1024,
    addressBytes: 262,
  },
  /** What goes between instances (docs/protocol.md#validity; docs/protocol.md#peer-operations, docs/protocol.md#account, docs/protocol.md#daemon-files). Message text, recipients and insight: `message`. */
  connect: {
    idBytes: 128,
    titleBytes: 4096,
    nameBytes: 512,
    originBytes: 512,
    cursorBytes: 512,
    clientVersionBytes: 64,
    generationBytes: 128,
    proofSeconds: 60,
    identitySeconds: 30,
    frameSeconds: 120,
    ticketSeconds: 24 * 3600,
    groupCheckSeconds: 30,
    /** How far ahead of our clock an issue or creation time may be. */
    skewSeconds: 30,
    registrationSkewSeconds: 120,
    deliverSeconds: 15 * 60,
    replySeconds: 7 * 24 * 3600,
    requestSeconds: 5,
    /** All attachments of a message together, and what they take as base64. */
    blobBytes: 10 * MiB,
    answerBytes: 8 * KiB,
    /** A catalog page alone, and in its envelope. */
    catalogPageBytes: 1 * MiB,
    catalogAnswerBytes: 1 * MiB + 4 * KiB,
    errorCharacters: 1024,
    errorCodeCharacters: 64,
    /** What is shown of a peer's own words, and of its name beside them. */
    saidCharacters: 300,
    saidNameCharacters: 60,
    /** Bodies of one peer read at a time, and how long a request id is remembered. */
    bodiesPerPeer: 2,
    seenSeconds: 90,
    seenIds: 8192,
    /** After this long an unanswered POST can't be admitted any more. */
    postEscapesSeconds: 90,
    originalPendingSeconds: 5,
    /** What a connection may write here at a time, and how fast that comes back. Generous: it is for peers that mean ill or are broken. */
    quota: { records: 10_000, recordsPerSecond: 10, bytes: 4096 * MiB, bytesPerDay: 4096 * MiB },
    /** Keys of peers kept ready for verifying. */
    admittedKeys: 256,
    catalog: {
      groups: 64,
      scanSeconds: 2,
      peers: 8,
      refreshSeconds: 60,
      refreshBudgetSeconds: 30,
      pages: 16,
      metadataBytes: 4 * MiB,
      freshSeconds: 120,
      defaultPage: 20,
    },
    backoffSeconds: [5, 10, 20, 40, 60],
  },
  outbox: {
    records: 1024,
    recordsPerPeer: 128,
    blobBytes: 256 * MiB,
    blobBytesPerPeer: 64 * MiB,
    recordBytes: 512 * KiB,
    jobs: 4,
    scanSeconds: 1,
    permitSeconds: 5,
    retrySecondsMin: 5,
    retrySecondsMax: 60,
  },
  /** The TLS of Direct (RFC 8446). */
  tls: {
    /** Body of a handshake message. The largest that make sense are hellos with post-quantum shares, of some 2 KiB. */
    handshakeMessageBytes: 16 * KiB,
    /** Appendix D.4 has one, or two when the server asks for a second hello. */
    changeCipherSpecs: 4,
    /** Section 5.5: AES-GCM keys are good for 2^24.5 records. We change ours before 2^24, and take no more than those of the peer. */
    recordsPerKey: 16_000_000,
    recordsPerReadKey: 23_726_566,
    /** Key updates, tickets, empty records and warnings beyond one for so many bytes of application data. */
    idleMessages: 32,
    bytesPerIdleMessage: 256,
    /** Records of one connection that are opened before others have a turn. */
    recordsPerTurn: 64,
    /** Encrypted ahead of what the peer has taken. */
    sendAheadBytes: 256 * KiB,
    /** How long a socket that failed stays, so that the peer reads the alert. */
    lingerSeconds: 2,
  },
  socketPathBytes: { linux: 107, darwin: 103 },
} as const;
