; made of ad9fe91ffc9da27a9c7336e133810726a8680435b61a2960f3406acbfe5d3d68
; by LLVM 22
; takes <f8:2 <i8:1 (<i8:1 <i8:1 <i8:1 <i8:1) i <i8:2 <i8:1 (i i f) (<i8:1 <i8:1 <i8:1 <i8:1 <f8:1 <f8:2 <f8:2 <f8:1 <i8:1 <i8:2 <f8:2)
; gives i
define range(i32 -1, -2) i32 @pramana.rework(ptr noalias writeonly captures(none) %retptr, ptr noalias writeonly captures(none) %excinfo, ptr readnone captures(none) %arg.points.0, ptr readnone captures(none) %arg.points.1, i64 %arg.points.2, i64 %arg.points.3, ptr readonly captures(none) %arg.points.4, i64 %arg.points.5.0, i64 %arg.points.5.1, i64 %arg.points.6.0, i64 %arg.points.6.1, ptr readnone captures(none) %arg.labels.0, ptr readnone captures(none) %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr captures(none) %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, ptr readnone captures(none) %arg.lists.0.0, ptr readnone captures(none) %arg.lists.0.1, i64 %arg.lists.0.2, i64 %arg.lists.0.3, ptr captures(none) %arg.lists.0.4, i64 %arg.lists.0.5.0, i64 %arg.lists.0.6.0, ptr readnone captures(none) %arg.lists.1.0, ptr readnone captures(none) %arg.lists.1.1, i64 %arg.lists.1.2, i64 %arg.lists.1.3, ptr captures(none) %arg.lists.1.4, i64 %arg.lists.1.5.0, i64 %arg.lists.1.6.0, ptr readnone captures(none) %arg.lists.2.0, ptr readnone captures(none) %arg.lists.2.1, i64 %arg.lists.2.2, i64 %arg.lists.2.3, ptr captures(none) %arg.lists.2.4, i64 %arg.lists.2.5.0, i64 %arg.lists.2.6.0, ptr readnone captures(none) %arg.lists.3.0, ptr readnone captures(none) %arg.lists.3.1, i64 %arg.lists.3.2, i64 %arg.lists.3.3, ptr captures(none) %arg.lists.3.4, i64 %arg.lists.3.5.0, i64 %arg.lists.3.6.0, i64 %arg.free, ptr readnone captures(none) %arg.neighbours.0, ptr readnone captures(none) %arg.neighbours.1, i64 %arg.neighbours.2, i64 %arg.neighbours.3, ptr readonly captures(none) %arg.neighbours.4, i64 %arg.neighbours.5.0, i64 %arg.neighbours.5.1, i64 %arg.neighbours.6.0, i64 %arg.neighbours.6.1, ptr readnone captures(none) %arg.words.0, ptr readnone captures(none) %arg.words.1, i64 %arg.words.2, i64 %arg.words.3, ptr readonly captures(none) %arg.words.4, i64 %arg.words.5.0, i64 %arg.words.6.0, i64 %arg.rules.0, i64 %arg.rules.1, double %arg.rules.2, ptr readnone captures(none) %arg.pool.0.0, ptr readnone captures(none) %arg.pool.0.1, i64 %arg.pool.0.2, i64 %arg.pool.0.3, ptr captures(none) %arg.pool.0.4, i64 %arg.pool.0.5.0, i64 %arg.pool.0.6.0, ptr readnone captures(none) %arg.pool.1.0, ptr readnone captures(none) %arg.pool.1.1, i64 %arg.pool.1.2, i64 %arg.pool.1.3, ptr captures(none) %arg.pool.1.4, i64 %arg.pool.1.5.0, i64 %arg.pool.1.6.0, ptr readnone captures(none) %arg.pool.2.0, ptr readnone captures(none) %arg.pool.2.1, i64 %arg.pool.2.2, i64 %arg.pool.2.3, ptr captures(none) %arg.pool.2.4, i64 %arg.pool.2.5.0, i64 %arg.pool.2.6.0, ptr readnone captures(none) %arg.pool.3.0, ptr readnone captures(none) %arg.pool.3.1, i64 %arg.pool.3.2, i64 %arg.pool.3.3, ptr captures(none) %arg.pool.3.4, i64 %arg.pool.3.5.0, i64 %arg.pool.3.6.0, ptr readnone captures(none) %arg.pool.4.0, ptr readnone captures(none) %arg.pool.4.1, i64 %arg.pool.4.2, i64 %arg.pool.4.3, ptr captures(none) %arg.pool.4.4, i64 %arg.pool.4.5.0, i64 %arg.pool.4.6.0, ptr readnone captures(none) %arg.pool.5.0, ptr readnone captures(none) %arg.pool.5.1, i64 %arg.pool.5.2, i64 %arg.pool.5.3, ptr captures(address) %arg.pool.5.4, i64 %arg.pool.5.5.0, i64 %arg.pool.5.5.1, i64 %arg.pool.5.6.0, i64 %arg.pool.5.6.1, ptr readnone captures(none) %arg.pool.6.0, ptr readnone captures(none) %arg.pool.6.1, i64 %arg.pool.6.2, i64 %arg.pool.6.3, ptr captures(address) %arg.pool.6.4, i64 %arg.pool.6.5.0, i64 %arg.pool.6.5.1, i64 %arg.pool.6.6.0, i64 %arg.pool.6.6.1, ptr readnone captures(none) %arg.pool.7.0, ptr readnone captures(none) %arg.pool.7.1, i64 %arg.pool.7.2, i64 %arg.pool.7.3, ptr captures(none) %arg.pool.7.4, i64 %arg.pool.7.5.0, i64 %arg.pool.7.6.0, ptr readnone captures(none) %arg.pool.8.0, ptr readnone captures(none) %arg.pool.8.1, i64 %arg.pool.8.2, i64 %arg.pool.8.3, ptr captures(none) %arg.pool.8.4, i64 %arg.pool.8.5.0, i64 %arg.pool.8.6.0, ptr readnone captures(none) %arg.pool.9.0, ptr readnone captures(none) %arg.pool.9.1, i64 %arg.pool.9.2, i64 %arg.pool.9.3, ptr captures(none) %arg.pool.9.4, i64 %arg.pool.9.5.0, i64 %arg.pool.9.5.1, i64 %arg.pool.9.6.0, i64 %arg.pool.9.6.1, ptr readnone captures(none) %arg.pool.10.0, ptr readnone captures(none) %arg.pool.10.1, i64 %arg.pool.10.2, i64 %arg.pool.10.3, ptr captures(none) %arg.pool.10.4, i64 %arg.pool.10.5.0, i64 %arg.pool.10.5.1, i64 %arg.pool.10.6.0, i64 %arg.pool.10.6.1) local_unnamed_addr #0 {
B0.endif:
  %.628 = alloca ptr, align 8
  %excinfo.3 = alloca ptr, align 8
  %.670 = alloca double, align 8
  store double 0.000000e+00, ptr %.670, align 8
  %excinfo.4 = alloca ptr, align 8
  %.875 = alloca i64, align 8
  store i64 0, ptr %.875, align 8
  %excinfo.5 = alloca ptr, align 8
  %.918 = alloca double, align 8
  %excinfo.6 = alloca ptr, align 8
  %.975 = alloca double, align 8
  store double 0.000000e+00, ptr %.975, align 8
  %excinfo.7 = alloca ptr, align 8
  store ptr null, ptr %excinfo.7, align 8
  %.3851022.not = icmp slt i64 %arg.words.2, 1
  br i1 %.3851022.not, label %B928, label %B106.lr.ph
B106.lr.ph:
  %const = bitcast i64 9223372036854775804 to i64
  %.600 = shl nsw i64 %arg.rules.0, 1
  %.11.i = tail call i64 @llvm.smax.i64(i64 %arg.neighbours.5.1, i64 1)
  %0 = shl i64 %arg.pool.0.5.0, 3
  %1 = shl i64 %arg.pool.2.5.0, 3
  br label %B106.endif.endif
B284:
  %.642 = call i32 @pramana.rework.0(ptr nonnull %.628, ptr nonnull %excinfo.3, ptr %arg.points.0, ptr %arg.points.1, i64 %arg.points.2, i64 %arg.points.3, ptr %arg.points.4, i64 %arg.points.5.0, i64 %arg.points.5.1, i64 %arg.points.6.0, i64 %arg.points.6.1, ptr %arg.pool.0.0, ptr %arg.pool.0.1, i64 %arg.pool.0.2, i64 %arg.pool.0.3, ptr %arg.pool.0.4, i64 %arg.pool.0.5.0, i64 %arg.pool.0.6.0, i64 %count.3.1.i, ptr %arg.pool.5.0, ptr %arg.pool.5.1, i64 %arg.pool.5.2, i64 %arg.pool.5.3, ptr %arg.pool.5.4, i64 %arg.pool.5.5.0, i64 %arg.pool.5.5.1, i64 %arg.pool.5.6.0, i64 %arg.pool.5.6.1)
  %cond = icmp eq i32 %.642, 0
  br i1 %cond, label %B284.endif, label %B284.if.if, !prof !0
B616.backedge:
  %largest.2.2921 = phi i64 [ %.11.i41, %B616.backedge ], [ %largest.2.2921.ph, %B616.backedge.preheader93 ]
  %.1134917919 = phi i64 [ %.1141, %B616.backedge ], [ %.1134917919.ph, %B616.backedge.preheader93 ]
  %2 = shl i64 %.1134917919, 3
  %scevgep117 = getelementptr i8, ptr %arg.pool.8.4, i64 %2
  %.1195 = load i64, ptr %scevgep117, align 8
  %.11.i41 = tail call i64 @llvm.smax.i64(i64 %.1195, i64 %largest.2.2921)
  %.1141 = add nuw nsw i64 %.1134917919, 1
  %exitcond.not = icmp eq i64 %.89753, %.1141
  br i1 %exitcond.not, label %B666, label %B616.backedge, !llvm.loop !1
B666:
  %largest.2.2.lcssa = phi i64 [ 0, %B582.endif ], [ %98, %middle.block ], [ %.11.i41, %B616.backedge ]
  %.1234 = icmp sgt i64 %largest.2.2.lcssa, %arg.rules.1
  br i1 %.1234, label %B929, label %B682.endif
B726:
  %lsr.iv120 = phi i64 [ 0, %B726.preheader113 ], [ %lsr.iv.next121, %B726 ]
  %3 = add i64 %free.2.2929.unr, %lsr.iv120
  %4 = add i64 %.1359925927.unr, %lsr.iv120
  %.1405 = icmp slt i64 %4, 0
  %.1406 = select i1 %.1405, i64 %arg.pool.1.5.0, i64 0
  %5 = shl i64 %.1406, 3
  %scevgep129 = getelementptr i8, ptr %scevgep122, i64 %5
  %6 = shl i64 %lsr.iv120, 3
  %scevgep130 = getelementptr i8, ptr %scevgep129, i64 %6
  store i64 %3, ptr %scevgep130, align 8
  %7 = add i64 %4, 1
  %.1405.1 = icmp slt i64 %7, 0
  %.1406.1 = select i1 %.1405.1, i64 %arg.pool.1.5.0, i64 0
  %8 = shl i64 %.1406.1, 3
  %scevgep131 = getelementptr i8, ptr %scevgep122, i64 %8
  %9 = shl i64 %lsr.iv120, 3
  %scevgep132 = getelementptr i8, ptr %scevgep131, i64 %9
  %scevgep133 = getelementptr i8, ptr %scevgep132, i64 8
  %10 = add i64 %3, 1
  store i64 %10, ptr %scevgep133, align 8
  %11 = add i64 %7, 1
  %.1405.2 = icmp slt i64 %11, 0
  %.1406.2 = select i1 %.1405.2, i64 %arg.pool.1.5.0, i64 0
  %12 = shl i64 %.1406.2, 3
  %scevgep126 = getelementptr i8, ptr %scevgep122, i64 %12
  %13 = shl i64 %lsr.iv120, 3
  %scevgep127 = getelementptr i8, ptr %scevgep126, i64 %13
  %scevgep128 = getelementptr i8, ptr %scevgep127, i64 16
  %14 = add i64 %10, 1
  store i64 %14, ptr %scevgep128, align 8
  %15 = add i64 %11, 1
  %.1405.3 = icmp slt i64 %15, 0
  %.1406.3 = select i1 %.1405.3, i64 %arg.pool.1.5.0, i64 0
  %16 = shl i64 %.1406.3, 3
  %scevgep123 = getelementptr i8, ptr %scevgep122, i64 %16
  %17 = shl i64 %lsr.iv120, 3
  %scevgep124 = getelementptr i8, ptr %scevgep123, i64 %17
  %scevgep125 = getelementptr i8, ptr %scevgep124, i64 24
  %18 = add i64 %14, 1
  store i64 %18, ptr %scevgep125, align 8
  %lsr.iv.next121 = add i64 %lsr.iv120, 4
  %19 = add i64 %15, 1
  %exitcond.not74.3 = icmp eq i64 %19, %.89753
  br i1 %exitcond.not74.3, label %B750.endif.loopexit, label %B726
B782:
  %.1519934936 = phi i64 [ %.1526, %B922 ], [ 0, %B782.preheader ]
  %.1526 = add nuw nsw i64 %.1519934936, 1
  %20 = shl i64 %.1519934936, 3
  %scevgep135 = getelementptr i8, ptr %arg.pool.0.4, i64 %20
  %.1584 = load i64, ptr %scevgep135, align 8
  %.1598 = icmp slt i64 %.1584, 0
  %.1599 = select i1 %.1598, i64 %arg.labels.5.0, i64 0
  %21 = getelementptr i64, ptr %arg.labels.4, i64 %.1584
  %.1613 = getelementptr i64, ptr %21, i64 %.1599
  %.1614 = load i64, ptr %.1613, align 8
  %22 = shl i64 %.1519934936, 3
  %scevgep134 = getelementptr i8, ptr %arg.pool.3.4, i64 %22
  %.1645 = load i64, ptr %scevgep134, align 8
  %.1659 = icmp slt i64 %.1645, 0
  %.1660 = select i1 %.1659, i64 %arg.pool.1.5.0, i64 0
  %23 = getelementptr i64, ptr %arg.pool.1.4, i64 %.1645
  %.1674 = getelementptr i64, ptr %23, i64 %.1660
  %.1675 = load i64, ptr %.1674, align 8
  %.1676.not = icmp eq i64 %.1614, %.1675
  br i1 %.1676.not, label %B922, label %B844
B844:
  %24 = icmp slt i64 %.1584, 0
  %.114.i = select i1 %24, i64 %arg.lists.2.5.0, i64 0
  %25 = getelementptr i64, ptr %arg.lists.2.4, i64 %.1584
  %.128.i = getelementptr i64, ptr %25, i64 %.114.i
  %.129.i = load i64, ptr %.128.i, align 8, !noalias !4
  %.130.i = icmp sgt i64 %.129.i, -1
  %.147.i = select i1 %24, i64 %arg.lists.1.5.0, i64 0
  %26 = getelementptr i64, ptr %arg.lists.1.4, i64 %.1584
  %.161.i = getelementptr i64, ptr %26, i64 %.147.i
  %.162.i = load i64, ptr %.161.i, align 8, !noalias !4
  br i1 %.130.i, label %B44.i, label %B80.i
B44.i:
  %.222.i = getelementptr i64, ptr %arg.lists.1.4, i64 %.129.i
  store i64 %.162.i, ptr %.222.i, align 8, !noalias !4
  br label %B102.i
B80.i:
  %.270.i = icmp slt i64 %.1614, 0
  %.271.i = select i1 %.270.i, i64 %arg.lists.0.5.0, i64 0
  %27 = getelementptr i64, ptr %arg.lists.0.4, i64 %.1614
  %.285.i = getelementptr i64, ptr %27, i64 %.271.i
  store i64 %.162.i, ptr %.285.i, align 8, !noalias !4
  br label %B102.i
B102.i:
  %sunkaddr.i = shl i64 %.147.i, 3
  %sunkaddr1.i = getelementptr inbounds i8, ptr %26, i64 %sunkaddr.i
  %.318.i = load i64, ptr %sunkaddr1.i, align 8, !noalias !4
  %.319.i = icmp sgt i64 %.318.i, -1
  br i1 %.319.i, label %B126.i, label %B160.i
B126.i:
  %sunkaddr = mul i64 %.114.i, 8
  %sunkaddr139 = getelementptr i8, ptr %25, i64 %sunkaddr
  %.351.i = load i64, ptr %sunkaddr139, align 8, !noalias !4
  %.411.i = getelementptr i64, ptr %arg.lists.2.4, i64 %.318.i
  store i64 %.351.i, ptr %.411.i, align 8, !noalias !4
  br label %B160.i
B160.i:
  %.428.i = icmp slt i64 %.1675, 0
  %.429.i = select i1 %.428.i, i64 %arg.lists.0.5.0, i64 0
  %28 = getelementptr i64, ptr %arg.lists.0.4, i64 %.1675
  %.443.i = getelementptr i64, ptr %28, i64 %.429.i
  %.444.i = load i64, ptr %.443.i, align 8, !noalias !4
  %sunkaddr140 = mul i64 %.114.i, 8
  %sunkaddr141 = getelementptr i8, ptr %25, i64 %sunkaddr140
  store i64 -1, ptr %sunkaddr141, align 8, !noalias !4
  %sunkaddr142 = mul i64 %.147.i, 8
  %sunkaddr143 = getelementptr i8, ptr %26, i64 %sunkaddr142
  store i64 %.444.i, ptr %sunkaddr143, align 8, !noalias !4
  %.539.i = load i64, ptr %.443.i, align 8, !noalias !4
  %.540.i = icmp sgt i64 %.539.i, -1
  br i1 %.540.i, label %B218.i, label %pramana.rework.1
B218.i:
  %.602.i = getelementptr i64, ptr %arg.lists.2.4, i64 %.539.i
  store i64 %.1584, ptr %.602.i, align 8, !noalias !4
  br label %pramana.rework.1
pramana.rework.1:
  %29 = icmp slt i64 %.1675, 0
  %sunkaddr8.i = shl i64 %.429.i, 3
  %sunkaddr9.i = getelementptr inbounds i8, ptr %28, i64 %sunkaddr8.i
  store i64 %.1584, ptr %sunkaddr9.i, align 8, !noalias !4
  %sunkaddr10.i = shl i64 %.1599, 3
  %sunkaddr11.i = getelementptr inbounds i8, ptr %21, i64 %sunkaddr10.i
  store i64 %.1675, ptr %sunkaddr11.i, align 8, !noalias !4
  %.693.i = icmp slt i64 %.1614, 0
  %.694.i = select i1 %.693.i, i64 %arg.lists.3.5.0, i64 0
  %30 = getelementptr i64, ptr %arg.lists.3.4, i64 %.1614
  %.708.i = getelementptr i64, ptr %30, i64 %.694.i
  %.709.i = load i64, ptr %.708.i, align 8, !noalias !4
  %.710.i = add nsw i64 %.709.i, -1
  store i64 %.710.i, ptr %.708.i, align 8, !noalias !4
  %.759.i = select i1 %29, i64 %arg.lists.3.5.0, i64 0
  %31 = getelementptr i64, ptr %arg.lists.3.4, i64 %.1675
  %.773.i = getelementptr i64, ptr %31, i64 %.759.i
  %.774.i = load i64, ptr %.773.i, align 8, !noalias !4
  %.775.i = add nsw i64 %.774.i, 1
  store i64 %.775.i, ptr %.773.i, align 8, !noalias !4
  br label %B922
B922:
  %exitcond1139.not = icmp eq i64 %count.3.1.i, %.1526
  br i1 %exitcond1139.not, label %B929, label %B782
common.ret:
  %common.ret.op = phi i32 [ 0, %B928 ], [ %.936, %B382.endif.endif.endif.endif.if.if ], [ %.1003, %B382.endif.endif.endif.endif.endif.if.if ], [ %.642, %B284.if.if ], [ %.688, %B284.endif.if.if ], [ %.88740, %B382.endif.endif.endif.if.if ]
  ret i32 %common.ret.op
B928:
  %better.2.0.lcssa = phi i64 [ 0, %B0.endif ], [ %better.3.1, %B929 ]
  store i64 %better.2.0.lcssa, ptr %retptr, align 8
  br label %common.ret
B929:
  %free.4.1 = phi i64 [ %free.3.01031, %B666 ], [ %free.3.01031, %B106.endif.endif.endif ], [ %free.3.01031, %B284.endif.endif ], [ %free.3.01031, %B382.endif.endif.endif.endif.endif.endif ], [ %free.2.2.lcssa, %B750.endif ], [ %free.3.01031, %43 ], [ %free.2.2.lcssa, %B922 ]
  %better.3.1 = phi i64 [ %better.2.01032, %B666 ], [ %better.2.01032, %B106.endif.endif.endif ], [ %better.2.01032, %B284.endif.endif ], [ %better.2.01032, %B382.endif.endif.endif.endif.endif.endif ], [ %.1262, %B750.endif ], [ %better.2.01032, %43 ], [ %.1262, %B922 ]
  %exitcond1140.not = icmp eq i64 %.398, %arg.words.2
  br i1 %exitcond1140.not, label %B928, label %B106.endif.endif
B106.endif.endif:
  %better.2.01032 = phi i64 [ 0, %B106.lr.ph ], [ %better.3.1, %B929 ]
  %free.3.01031 = phi i64 [ %arg.free, %B106.lr.ph ], [ %free.4.1, %B929 ]
  %.3919491029 = phi i64 [ 0, %B106.lr.ph ], [ %.398, %B929 ]
  %.398 = add nuw nsw i64 %.3919491029, 1
  %32 = getelementptr i64, ptr %arg.words.4, i64 %.3919491029
  %.452 = load i64, ptr %32, align 8
  %const_mat136 = add i64 %const, 3
  %.453 = and i64 %.452, %const_mat136
  %33 = or i64 %.453, %.11.i
  %34 = and i64 %33, -4294967296
  %35 = icmp eq i64 %34, 0
  br i1 %35, label %36, label %41
36:
  %37 = trunc i64 %.11.i to i32
  %38 = trunc i64 %.453 to i32
  %39 = urem i32 %38, %37
  %40 = zext i32 %39 to i64
  br label %43
41:
  %42 = urem i64 %.453, %.11.i
  br label %43
43:
  %44 = phi i64 [ %40, %36 ], [ %42, %41 ]
  %spec.select = add nuw nsw i64 %44, 1
  %.11.i.i = tail call i64 @llvm.smin.i64(i64 %arg.neighbours.5.1, i64 %spec.select)
  %const_mat = add i64 %const, 2
  %.179.i = icmp ugt i64 %.11.i.i, %const_mat
  %.178.i = add nuw i64 %.11.i.i, 1
  %storemerge.i = select i1 %.179.i, i64 0, i64 %.178.i
  %.221284.i = icmp sgt i64 %storemerge.i, 0
  br i1 %.221284.i, label %B98.lr.ph.i, label %B929
B98.i:
  %held.2.0288.i = phi i64 [ 0, %B98.lr.ph.i ], [ %held.3.1.i, %B313.i ]
  %count.2.0287.i = phi i64 [ 0, %B98.lr.ph.i ], [ %count.3.1.i, %B313.i ]
  %.227283285.i = phi i64 [ -1, %B98.lr.ph.i ], [ %.234.i, %B313.i ]
  %.234.i = add nsw i64 %.227283285.i, 1
  %.263.i = icmp slt i64 %.227283285.i, 0
  br i1 %.263.i, label %B134.i, label %B116.i
B116.i:
  %.324.i = getelementptr i64, ptr %52, i64 %.227283285.i
  %.325.i = load i64, ptr %.324.i, align 8, !noalias !7
  br label %B134.i
B134.i:
  %"$phi134.1.2.1.i" = phi i64 [ %.325.i, %B116.i ], [ %.3919491029, %B98.i ]
  %.349.i = icmp slt i64 %"$phi134.1.2.1.i", 0
  %.350.i = select i1 %.349.i, i64 %arg.lists.3.5.0, i64 0
  %45 = getelementptr i64, ptr %arg.lists.3.4, i64 %"$phi134.1.2.1.i"
  %.364.i = getelementptr i64, ptr %45, i64 %.350.i
  %.365.i = load i64, ptr %.364.i, align 8, !noalias !7
  %.366.i = icmp eq i64 %.365.i, 0
  %.400.i = add nsw i64 %.365.i, %count.2.0287.i
  %.408.i = icmp sgt i64 %.400.i, %arg.pool.0.2
  %or.cond.i = select i1 %.366.i, i1 true, i1 %.408.i
  br i1 %or.cond.i, label %B313.i, label %B202.i
B202.i:
  %46 = icmp slt i64 %"$phi134.1.2.1.i", 0
  %.450.i = select i1 %46, i64 %arg.lists.0.5.0, i64 0
  %47 = getelementptr i64, ptr %arg.lists.0.4, i64 %"$phi134.1.2.1.i"
  %.464.i = getelementptr i64, ptr %47, i64 %.450.i
  %.465.i = load i64, ptr %.464.i, align 8, !noalias !7
  %.469.i = icmp sgt i64 %.465.i, -1
  br i1 %.469.i, label %B230.i.preheader, label %B290.i
B230.i.preheader:
  br label %B230.i
B230.i:
  %count.5.2.i = phi i64 [ %.569.i, %B230.i ], [ %count.2.0287.i, %B230.i.preheader ]
  %i.2.2.i = phi i64 [ %.565.i, %B230.i ], [ %.465.i, %B230.i.preheader ]
  %.486.i = icmp slt i64 %count.5.2.i, 0
  %48 = select i1 %.486.i, i64 %0, i64 0
  %scevgep2.i = getelementptr i8, ptr %arg.pool.0.4, i64 %48
  %49 = shl i64 %count.5.2.i, 3
  %scevgep3.i = getelementptr i8, ptr %scevgep2.i, i64 %49
  store i64 %i.2.2.i, ptr %scevgep3.i, align 8, !noalias !7
  %50 = select i1 %.486.i, i64 %1, i64 0
  %scevgep.i = getelementptr i8, ptr %arg.pool.2.4, i64 %50
  %scevgep1.i = getelementptr i8, ptr %scevgep.i, i64 %49
  store i64 %held.2.0288.i, ptr %scevgep1.i, align 8, !noalias !7
  %.564.i = getelementptr i64, ptr %arg.lists.1.4, i64 %i.2.2.i
  %.565.i = load i64, ptr %.564.i, align 8, !noalias !7
  %.569.i = add i64 %count.5.2.i, 1
  %.574.i = icmp sgt i64 %.565.i, -1
  br i1 %.574.i, label %B230.i, label %B290.i
B290.i:
  %count.4.3.i = phi i64 [ %count.2.0287.i, %B202.i ], [ %.569.i, %B230.i ]
  %.600.i = icmp slt i64 %held.2.0288.i, 0
  %.601.i = select i1 %.600.i, i64 %arg.pool.1.5.0, i64 0
  %51 = getelementptr i64, ptr %arg.pool.1.4, i64 %held.2.0288.i
  %.615.i = getelementptr i64, ptr %51, i64 %.601.i
  store i64 %"$phi134.1.2.1.i", ptr %.615.i, align 8, !noalias !7
  %.620.i = add nsw i64 %held.2.0288.i, 1
  br label %B313.i
B313.i:
  %count.3.1.i = phi i64 [ %count.4.3.i, %B290.i ], [ %count.2.0287.i, %B134.i ]
  %held.3.1.i = phi i64 [ %.620.i, %B290.i ], [ %held.2.0288.i, %B134.i ]
  %exitcond.not.i = icmp eq i64 %.227283285.i, %53
  br i1 %exitcond.not.i, label %B106.endif.endif.endif, label %B98.i
B98.lr.ph.i:
  %.320.i = mul i64 %.3919491029, %arg.neighbours.5.1
  %52 = getelementptr i64, ptr %arg.neighbours.4, i64 %.320.i
  %53 = add nsw i64 %storemerge.i, -2
  br label %B98.i
B106.endif.endif.endif:
  %.597 = icmp eq i64 %held.3.1.i, 0
  %.602 = icmp slt i64 %count.3.1.i, %.600
  %or.cond = select i1 %.597, i1 true, i1 %.602
  br i1 %or.cond, label %B929, label %B284
B284.endif:
  store double 0.000000e+00, ptr %.670, align 8
  %.688 = call i32 @pramana.rework.2(ptr nonnull %.670, ptr nonnull %excinfo.4, ptr %arg.pool.5.0, ptr %arg.pool.5.1, i64 %arg.pool.5.2, i64 %arg.pool.5.3, ptr %arg.pool.5.4, i64 %arg.pool.5.5.0, i64 %arg.pool.5.5.1, i64 %arg.pool.5.6.0, i64 %arg.pool.5.6.1, ptr %arg.pool.2.0, ptr %arg.pool.2.1, i64 %arg.pool.2.2, i64 %arg.pool.2.3, ptr %arg.pool.2.4, i64 %arg.pool.2.5.0, i64 %arg.pool.2.6.0, i64 %count.3.1.i, i64 %held.3.1.i, ptr %arg.pool.6.0, ptr %arg.pool.6.1, i64 %arg.pool.6.2, i64 %arg.pool.6.3, ptr %arg.pool.6.4, i64 %arg.pool.6.5.0, i64 %arg.pool.6.5.1, i64 %arg.pool.6.6.0, i64 %arg.pool.6.6.1, ptr %arg.pool.7.0, ptr %arg.pool.7.1, i64 %arg.pool.7.2, i64 %arg.pool.7.3, ptr %arg.pool.7.4, i64 %arg.pool.7.5.0, i64 %arg.pool.7.6.0, ptr %arg.pool.8.0, ptr %arg.pool.8.1, i64 %arg.pool.8.2, i64 %arg.pool.8.3, ptr %arg.pool.8.4, i64 %arg.pool.8.5.0, i64 %arg.pool.8.6.0)
  %cond55 = icmp eq i32 %.688, 0
  br i1 %cond55, label %B284.endif.endif, label %B284.endif.if.if, !prof !0
B284.if.if:
  store ptr null, ptr %excinfo, align 8
  br label %common.ret
B284.endif.endif:
  %.698 = load double, ptr %.670, align 8
  %.709 = fsub double %.698, %arg.rules.2
  %.715 = fcmp ugt double %.709, 0.000000e+00
  br i1 %.715, label %B382.else, label %B929
B284.endif.if.if:
  store ptr null, ptr %excinfo, align 8
  br label %common.ret
B382.else:
  %.737 = lshr i64 %.453, 40
  %const_mat137 = add i64 %const, 4
  %.753 = icmp ne i64 %count.3.1.i, %const_mat137
  %.754 = icmp ne i64 %held.3.1.i, -1
  %.755.not = or i1 %.753, %.754
  br i1 %.755.not, label %B382.else.if, label %B382.endif, !prof !10
B382.endif:
  %.747.0 = phi i64 [ 0, %B382.else ], [ %spec.select865, %68 ]
  %.781 = sub nsw i64 %.747.0, %arg.rules.0
  %54 = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %.781, i64 1)
  %math = extractvalue { i64, i1 } %54, 0
  %ov = extractvalue { i64, i1 } %54, 1
  br i1 %ov, label %B382.endif.endif, label %B382.endif.else.if, !prof !11
B382.else.if:
  %55 = or i64 %count.3.1.i, %held.3.1.i
  %56 = and i64 %55, -4294967296
  %57 = icmp eq i64 %56, 0
  br i1 %57, label %58, label %65
58:
  %59 = trunc i64 %held.3.1.i to i32
  %60 = trunc i64 %count.3.1.i to i32
  %61 = udiv i32 %60, %59
  %62 = urem i32 %60, %59
  %63 = zext i32 %61 to i64
  %64 = zext i32 %62 to i64
  br label %68
65:
  %66 = sdiv i64 %count.3.1.i, %held.3.1.i
  %67 = srem i64 %count.3.1.i, %held.3.1.i
  br label %68
68:
  %69 = phi i64 [ %63, %58 ], [ %66, %65 ]
  %70 = phi i64 [ %64, %58 ], [ %67, %65 ]
  %.760 = xor i64 %70, %held.3.1.i
  %.761 = icmp slt i64 %.760, 0
  %.762 = icmp ne i64 %70, 0
  %.763 = and i1 %.762, %.761
  %.768 = sext i1 %.763 to i64
  %spec.select865 = add i64 %69, %.768
  br label %B382.endif
B382.endif.endif:
  %rem.2.0 = phi i64 [ 0, %B382.endif ], [ %spec.select866, %80 ]
  %.833 = icmp eq i64 %count.3.1.i, 0
  br i1 %.833, label %B382.endif.endif.split, label %B382.endif.endif.endif, !prof !11
B382.endif.endif.split:
  store i64 0, ptr %.875, align 8, !alias.scope !12
  br label %B382.endif.endif.endif.endif
B382.endif.else.if:
  %71 = and i64 %math, -4294967296
  %72 = icmp eq i64 %71, 0
  br i1 %72, label %73, label %78
73:
  %74 = trunc i64 %math to i32
  %75 = trunc i64 %.737 to i32
  %76 = urem i32 %75, %74
  %77 = zext i32 %76 to i64
  br label %80
78:
  %79 = srem i64 %.737, %math
  br label %80
80:
  %81 = phi i64 [ %77, %73 ], [ %79, %78 ]
  %.804 = icmp slt i64 %.781, -1
  %.805 = icmp ne i64 %81, 0
  %.806 = and i1 %.804, %.805
  %.813 = select i1 %.806, i64 %math, i64 0
  %spec.select866 = add i64 %.813, %81
  br label %B382.endif.endif
B382.endif.endif.endif:
  %.824 = add nsw i64 %rem.2.0, %arg.rules.0
  %.827 = lshr i64 %.453, 16
  %82 = or i64 %.827, %count.3.1.i
  %83 = and i64 %82, -4294967296
  %84 = icmp eq i64 %83, 0
  br i1 %84, label %85, label %90
85:
  %86 = trunc i64 %count.3.1.i to i32
  %87 = trunc i64 %.827 to i32
  %88 = urem i32 %87, %86
  %89 = zext i32 %88 to i64
  br label %92
90:
  %91 = srem i64 %.827, %count.3.1.i
  br label %92
92:
  %93 = phi i64 [ %89, %85 ], [ %91, %90 ]
  %.853.not = icmp eq i64 %93, 0
  %94 = tail call i64 @llvm.smin.i64(i64 %count.3.1.i, i64 0)
  %.861 = select i1 %.853.not, i64 0, i64 %94
  %spec.select867 = add nsw i64 %.861, %93
  store i64 0, ptr %.875, align 8
  %.88740 = call i32 @pramana.rework.3(ptr nonnull %.875, ptr nonnull %excinfo.5, ptr %arg.pool.5.0, ptr %arg.pool.5.1, i64 %arg.pool.5.2, i64 %arg.pool.5.3, ptr %arg.pool.5.4, i64 %arg.pool.5.5.0, i64 %arg.pool.5.5.1, i64 %arg.pool.5.6.0, i64 %arg.pool.5.6.1, i64 %count.3.1.i, i64 %.824, i64 %spec.select867, ptr %arg.pool.3.0, ptr %arg.pool.3.1, i64 %arg.pool.3.2, i64 %arg.pool.3.3, ptr %arg.pool.3.4, i64 %arg.pool.3.5.0, i64 %arg.pool.3.6.0, ptr %arg.pool.4.0, ptr %arg.pool.4.1, i64 %arg.pool.4.2, i64 %arg.pool.4.3, ptr %arg.pool.4.4, i64 %arg.pool.4.5.0, i64 %arg.pool.4.6.0)
  %.897 = load i64, ptr %.875, align 8
  switch i32 %.88740, label %B382.endif.endif.endif.if.if [
    i32 -2, label %B382.endif.endif.endif.endif
    i32 0, label %B382.endif.endif.endif.endif
  ], !prof !15
B382.endif.endif.endif.endif:
  %.89753 = phi i64 [ 0, %B382.endif.endif.split ], [ %.897, %92 ], [ %.897, %92 ]
  %.936 = call i32 @pramana.rework.2(ptr nonnull %.918, ptr nonnull %excinfo.6, ptr %arg.pool.5.0, ptr %arg.pool.5.1, i64 %arg.pool.5.2, i64 %arg.pool.5.3, ptr %arg.pool.5.4, i64 %arg.pool.5.5.0, i64 %arg.pool.5.5.1, i64 %arg.pool.5.6.0, i64 %arg.pool.5.6.1, ptr %arg.pool.3.0, ptr %arg.pool.3.1, i64 %arg.pool.3.2, i64 %arg.pool.3.3, ptr %arg.pool.3.4, i64 %arg.pool.3.5.0, i64 %arg.pool.3.6.0, i64 %count.3.1.i, i64 %.89753, ptr %arg.pool.6.0, ptr %arg.pool.6.1, i64 %arg.pool.6.2, i64 %arg.pool.6.3, ptr %arg.pool.6.4, i64 %arg.pool.6.5.0, i64 %arg.pool.6.5.1, i64 %arg.pool.6.6.0, i64 %arg.pool.6.6.1, ptr %arg.pool.7.0, ptr %arg.pool.7.1, i64 %arg.pool.7.2, i64 %arg.pool.7.3, ptr %arg.pool.7.4, i64 %arg.pool.7.5.0, i64 %arg.pool.7.6.0, ptr %arg.pool.8.0, ptr %arg.pool.8.1, i64 %arg.pool.8.2, i64 %arg.pool.8.3, ptr %arg.pool.8.4, i64 %arg.pool.8.5.0, i64 %arg.pool.8.6.0)
  %cond56 = icmp eq i32 %.936, 0
  br i1 %cond56, label %B382.endif.endif.endif.endif.endif, label %B382.endif.endif.endif.endif.if.if, !prof !0
B382.endif.endif.endif.if.if:
  store ptr null, ptr %excinfo, align 8
  br label %common.ret
B382.endif.endif.endif.endif.endif:
  store double 0.000000e+00, ptr %.975, align 8
  %.1003 = call i32 @pramana.rework.4(ptr nonnull %.975, ptr nonnull %excinfo.7, ptr %arg.pool.5.0, ptr %arg.pool.5.1, i64 %arg.pool.5.2, i64 %arg.pool.5.3, ptr %arg.pool.5.4, i64 %arg.pool.5.5.0, i64 %arg.pool.5.5.1, i64 %arg.pool.5.6.0, i64 %arg.pool.5.6.1, ptr %arg.pool.3.0, ptr %arg.pool.3.1, i64 %arg.pool.3.2, i64 %arg.pool.3.3, ptr %arg.pool.3.4, i64 %arg.pool.3.5.0, i64 %arg.pool.3.6.0, i64 %count.3.1.i, i64 %.89753, ptr %arg.pool.6.0, ptr %arg.pool.6.1, i64 %arg.pool.6.2, i64 %arg.pool.6.3, ptr %arg.pool.6.4, i64 %arg.pool.6.5.0, i64 %arg.pool.6.5.1, i64 %arg.pool.6.6.0, i64 %arg.pool.6.6.1, ptr %arg.pool.7.0, ptr %arg.pool.7.1, i64 %arg.pool.7.2, i64 %arg.pool.7.3, ptr %arg.pool.7.4, i64 %arg.pool.7.5.0, i64 %arg.pool.7.6.0, ptr %arg.pool.8.0, ptr %arg.pool.8.1, i64 %arg.pool.8.2, i64 %arg.pool.8.3, ptr %arg.pool.8.4, i64 %arg.pool.8.5.0, i64 %arg.pool.8.6.0, i64 %arg.rules.0, i64 %arg.rules.1, double %arg.rules.2, ptr %arg.pool.9.0, ptr %arg.pool.9.1, i64 %arg.pool.9.2, i64 %arg.pool.9.3, ptr %arg.pool.9.4, i64 %arg.pool.9.5.0, i64 %arg.pool.9.5.1, i64 %arg.pool.9.6.0, i64 %arg.pool.9.6.1, ptr %arg.pool.10.0, ptr %arg.pool.10.1, i64 %arg.pool.10.2, i64 %arg.pool.10.3, ptr %arg.pool.10.4, i64 %arg.pool.10.5.0, i64 %arg.pool.10.5.1, i64 %arg.pool.10.6.0, i64 %arg.pool.10.6.1, ptr %arg.pool.2.0, ptr %arg.pool.2.1, i64 %arg.pool.2.2, i64 %arg.pool.2.3, ptr %arg.pool.2.4, i64 %arg.pool.2.5.0, i64 %arg.pool.2.6.0)
  %cond57 = icmp eq i32 %.1003, 0
  br i1 %cond57, label %B382.endif.endif.endif.endif.endif.endif, label %B382.endif.endif.endif.endif.endif.if.if, !prof !0
B382.endif.endif.endif.endif.if.if:
  store ptr null, ptr %excinfo, align 8
  br label %common.ret
B382.endif.endif.endif.endif.endif.endif:
  %.1013 = load double, ptr %.975, align 8
  %.1024 = fcmp ult double %.1013, %.709
  br i1 %.1024, label %B582.endif, label %B929
B382.endif.endif.endif.endif.endif.if.if:
  %.1011 = icmp sgt i32 %.1003, 0
  %.1004 = load ptr, ptr %excinfo.7, align 8
  %.1012 = select i1 %.1011, ptr %.1004, ptr undef
  store ptr %.1012, ptr %excinfo, align 8
  br label %common.ret
B582.endif:
  %.1128918.not = icmp slt i64 %.89753, 1
  br i1 %.1128918.not, label %B666, label %B616.backedge.preheader
B616.backedge.preheader:
  %min.iters.check = icmp ult i64 %.89753, 4
  br i1 %min.iters.check, label %B616.backedge.preheader93, label %vector.ph
vector.ph:
  %n.vec = and i64 %.89753, %const
  br label %vector.body
vector.body:
  %index = phi i64 [ 0, %vector.ph ], [ %index.next, %vector.body ]
  %vec.phi = phi <2 x i64> [ zeroinitializer, %vector.ph ], [ %95, %vector.body ]
  %vec.phi91 = phi <2 x i64> [ zeroinitializer, %vector.ph ], [ %96, %vector.body ]
  %sunkaddr145 = mul i64 %index, 8
  %sunkaddr146 = getelementptr i8, ptr %arg.pool.8.4, i64 %sunkaddr145
  %wide.load = load <2 x i64>, ptr %sunkaddr146, align 8
  %sunkaddr147 = mul i64 %index, 8
  %sunkaddr148 = getelementptr i8, ptr %arg.pool.8.4, i64 %sunkaddr147
  %sunkaddr149 = getelementptr i8, ptr %sunkaddr148, i64 16
  %wide.load92 = load <2 x i64>, ptr %sunkaddr149, align 8
  %95 = tail call <2 x i64> @llvm.smax.v2i64(<2 x i64> %wide.load, <2 x i64> %vec.phi)
  %96 = tail call <2 x i64> @llvm.smax.v2i64(<2 x i64> %wide.load92, <2 x i64> %vec.phi91)
  %index.next = add nuw i64 %index, 4
  %97 = icmp eq i64 %n.vec, %index.next
  br i1 %97, label %middle.block, label %vector.body, !llvm.loop !16
middle.block:
  %rdx.minmax = tail call <2 x i64> @llvm.smax.v2i64(<2 x i64> %95, <2 x i64> %96)
  %rdx.shuf = shufflevector <2 x i64> %rdx.minmax, <2 x i64> poison, <2 x i32> <i32 1, i32 poison>
  %rdx.minmax138 = call <2 x i64> @llvm.smax.v2i64(<2 x i64> %rdx.minmax, <2 x i64> %rdx.shuf)
  %98 = extractelement <2 x i64> %rdx.minmax138, i32 0
  %cmp.n = icmp eq i64 %.89753, %n.vec
  br i1 %cmp.n, label %B666, label %B616.backedge.preheader93
B616.backedge.preheader93:
  %largest.2.2921.ph = phi i64 [ 0, %B616.backedge.preheader ], [ %98, %middle.block ]
  %.1134917919.ph = phi i64 [ 0, %B616.backedge.preheader ], [ %n.vec, %middle.block ]
  br label %B616.backedge
B682.endif:
  %.1262 = add nsw i64 %better.2.01032, 1
  %.1310 = sub i64 %.89753, %held.3.1.i
  %.1353926.not = icmp slt i64 %.1310, 1
  br i1 %.1353926.not, label %B750.endif, label %B726.preheader
B726.preheader:
  %xtraiter = and i64 %.1310, 3
  %lcmp.mod.not = icmp eq i64 %xtraiter, 0
  br i1 %lcmp.mod.not, label %B726.prol.loopexit, label %B726.prol.preheader
B726.prol.preheader:
  br label %B726.prol
B726.prol:
  %lsr.iv = phi i64 [ %xtraiter, %B726.prol.preheader ], [ %lsr.iv.next, %B726.prol ]
  %free.2.2929.prol = phi i64 [ %.1423.prol, %B726.prol ], [ %free.3.01031, %B726.prol.preheader ]
  %.1359925927.prol = phi i64 [ %.1366.prol, %B726.prol ], [ %held.3.1.i, %B726.prol.preheader ]
  %.1366.prol = add i64 %.1359925927.prol, 1
  %.1405.prol = icmp slt i64 %.1359925927.prol, 0
  %.1406.prol = select i1 %.1405.prol, i64 %arg.pool.1.5.0, i64 0
  %99 = shl i64 %.1406.prol, 3
  %scevgep118 = getelementptr i8, ptr %arg.pool.1.4, i64 %99
  %100 = shl i64 %.1359925927.prol, 3
  %scevgep119 = getelementptr i8, ptr %scevgep118, i64 %100
  store i64 %free.2.2929.prol, ptr %scevgep119, align 8
  %.1423.prol = add i64 %free.2.2929.prol, 1
  %lsr.iv.next = add nsw i64 %lsr.iv, -1
  %prol.iter.cmp.not = icmp eq i64 %lsr.iv.next, 0
  br i1 %prol.iter.cmp.not, label %B726.prol.loopexit, label %B726.prol, !llvm.loop !17
B726.prol.loopexit:
  %.1423.lcssa.unr = phi i64 [ poison, %B726.preheader ], [ %.1423.prol, %B726.prol ]
  %free.2.2929.unr = phi i64 [ %free.3.01031, %B726.preheader ], [ %.1423.prol, %B726.prol ]
  %.1359925927.unr = phi i64 [ %held.3.1.i, %B726.preheader ], [ %.1366.prol, %B726.prol ]
  %101 = sub i64 %held.3.1.i, %.89753
  %102 = icmp ugt i64 %101, -4
  br i1 %102, label %B750.endif, label %B726.preheader113
B726.preheader113:
  %103 = shl i64 %.1359925927.unr, 3
  %scevgep122 = getelementptr i8, ptr %arg.pool.1.4, i64 %103
  br label %B726
B750.endif.loopexit:
  %104 = add i64 %free.2.2929.unr, %lsr.iv.next121
  br label %B750.endif
B750.endif:
  %free.2.2.lcssa = phi i64 [ %free.3.01031, %B682.endif ], [ %.1423.lcssa.unr, %B726.prol.loopexit ], [ %104, %B750.endif.loopexit ]
  %.1513935.not = icmp slt i64 %count.3.1.i, 1
  br i1 %.1513935.not, label %B929, label %B782.preheader
B782.preheader:
  br label %B782
}
declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #1
declare i64 @llvm.smin.i64(i64, i64) #2
declare i64 @llvm.smax.i64(i64, i64) #2
define linkonce_odr noundef range(i32 -1, -2) i32 @pramana.rework.0(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, ptr readnone captures(none) %arg.points.0, ptr readnone captures(none) %arg.points.1, i64 %arg.points.2, i64 %arg.points.3, ptr readonly captures(none) %arg.points.4, i64 %arg.points.5.0, i64 %arg.points.5.1, i64 %arg.points.6.0, i64 %arg.points.6.1, ptr readnone captures(none) %arg.ids.0, ptr readnone captures(none) %arg.ids.1, i64 %arg.ids.2, i64 %arg.ids.3, ptr readonly captures(none) %arg.ids.4, i64 %arg.ids.5.0, i64 %arg.ids.6.0, i64 %arg.count, ptr readnone captures(none) %arg.gaps.0, ptr readnone captures(none) %arg.gaps.1, i64 %arg.gaps.2, i64 %arg.gaps.3, ptr writeonly captures(none) %arg.gaps.4, i64 %arg.gaps.5.0, i64 %arg.gaps.5.1, i64 %arg.gaps.6.0, i64 %arg.gaps.6.1) local_unnamed_addr #0 {
B0.endif:
  %arg.points.5.1.fr = freeze i64 %arg.points.5.1
  %.127217.not = icmp slt i64 %arg.count, 1
  br i1 %.127217.not, label %common.ret, label %B36.endif.preheader
B36.endif.preheader:
  %const = bitcast i64 9223372036854775804 to i64
  %.137113.not.i = icmp slt i64 %arg.points.5.1.fr, 1
  %xtraiter.i = and i64 %arg.points.5.1.fr, 3
  %unroll_iter.i = and i64 %arg.points.5.1.fr, %const
  %0 = shl i64 %arg.points.5.1.fr, 3
  br i1 %.137113.not.i, label %B36.endif.us.preheader, label %B36.endif.preheader3
B36.endif.preheader3:
  %1 = icmp samesign ult i64 %arg.points.5.1.fr, 4
  br i1 %1, label %B36.endif.us5.preheader, label %B36.endif.preheader38
B36.endif.preheader38:
  br label %B36.endif
B36.endif.us5.preheader:
  br label %B36.endif.us5
B36.endif.us5:
  %.133212218.us6 = phi i64 [ %.140.us7, %B34.loopexit.us11 ], [ 0, %B36.endif.us5.preheader ]
  %.140.us7 = add nuw nsw i64 %.133212218.us6, 1
  %.214.us8 = mul i64 %.133212218.us6, %arg.gaps.5.1
  %2 = getelementptr double, ptr %arg.gaps.4, i64 %.214.us8
  %.218.us9 = getelementptr double, ptr %2, i64 %.133212218.us6
  store double 0.000000e+00, ptr %.218.us9, align 8
  %invariant.gep.us = getelementptr double, ptr %arg.gaps.4, i64 %.133212218.us6
  %.300207.not.us10 = icmp eq i64 %.133212218.us6, 0
  br i1 %.300207.not.us10, label %B34.loopexit.us11, label %B84.preheader.us
B34.loopexit.us11:
  %exitcond227.not.us12 = icmp eq i64 %arg.count, %.140.us7
  br i1 %exitcond227.not.us12, label %common.ret, label %B36.endif.us5
B84.preheader.us:
  br label %B84.us.us13
B84.us.us13:
  %.306206208.us.us14 = phi i64 [ %.313.us.us, %B84.endif.loopexit.us.us ], [ 0, %B84.preheader.us ]
  %3 = getelementptr i64, ptr %arg.ids.4, i64 %.306206208.us.us14
  %.399.us.us = load i64, ptr %3, align 8
  %sunkaddr75 = mul i64 %.133212218.us6, 8
  %sunkaddr76 = getelementptr i8, ptr %arg.ids.4, i64 %sunkaddr75
  %.369.us.us = load i64, ptr %sunkaddr76, align 8
  %.198.i.us.us = icmp slt i64 %.369.us.us, 0
  %.199.i.us.us = select i1 %.198.i.us.us, i64 %arg.points.5.0, i64 0
  %.200.i.us.us = add i64 %.199.i.us.us, %.369.us.us
  %.249.i.us.us = icmp slt i64 %.399.us.us, 0
  %.250.i.us.us = select i1 %.249.i.us.us, i64 %arg.points.5.0, i64 0
  %.251.i.us.us = add i64 %.250.i.us.us, %.399.us.us
  %4 = mul i64 %.251.i.us.us, %arg.points.5.1.fr
  %5 = shl i64 %4, 3
  %scevgep.i.us.us = getelementptr i8, ptr %arg.points.4, i64 %5
  %6 = mul i64 %.200.i.us.us, %arg.points.5.1.fr
  %7 = shl i64 %6, 3
  %scevgep4.i.us.us = getelementptr i8, ptr %arg.points.4, i64 %7
  br label %B62.epil.i.us.us
B62.epil.i.us.us:
  %total.2.0116.epil.i.us.us = phi double [ 0.000000e+00, %B84.us.us13 ], [ %.280.epil.i.us.us, %B62.epil.i.us.us ]
  %epil.iter.i.us.us = phi i64 [ 0, %B84.us.us13 ], [ %epil.iter.next.i.us.us, %B62.epil.i.us.us ]
  %8 = shl nuw nsw i64 %epil.iter.i.us.us, 3
  %scevgep59 = getelementptr i8, ptr %scevgep4.i.us.us, i64 %8
  %.225.epil.i.us.us = load double, ptr %scevgep59, align 8, !noalias !19
  %9 = shl nuw nsw i64 %epil.iter.i.us.us, 3
  %scevgep = getelementptr i8, ptr %scevgep.i.us.us, i64 %9
  %.276.epil.i.us.us = load double, ptr %scevgep, align 8, !noalias !19
  %.277.epil.i.us.us = fsub double %.225.epil.i.us.us, %.276.epil.i.us.us
  %.278.epil.i.us.us = fmul double %.277.epil.i.us.us, %.277.epil.i.us.us
  %.280.epil.i.us.us = fadd double %total.2.0116.epil.i.us.us, %.278.epil.i.us.us
  %epil.iter.next.i.us.us = add nuw nsw i64 %epil.iter.i.us.us, 1
  %epil.iter.cmp.not.i.us.us = icmp eq i64 %xtraiter.i, %epil.iter.next.i.us.us
  br i1 %epil.iter.cmp.not.i.us.us, label %B84.endif.loopexit.us.us, label %B62.epil.i.us.us, !llvm.loop !22
B84.endif.loopexit.us.us:
  %.313.us.us = add nuw nsw i64 %.306206208.us.us14, 1
  %10 = getelementptr double, ptr %2, i64 %.306206208.us.us14
  store double %.280.epil.i.us.us, ptr %10, align 8
  %.530.us.us = mul i64 %.306206208.us.us14, %arg.gaps.5.1
  %gep.us.us = getelementptr double, ptr %invariant.gep.us, i64 %.530.us.us
  store double %.280.epil.i.us.us, ptr %gep.us.us, align 8
  %exitcond.not.us.us = icmp eq i64 %.313.us.us, %.133212218.us6
  br i1 %exitcond.not.us.us, label %B34.loopexit.us11, label %B84.us.us13
B36.endif.us.preheader:
  %11 = shl i64 %arg.gaps.5.1, 3
  %12 = shl i64 %arg.gaps.5.1, 2
  br label %B36.endif.us
B36.endif.us:
  %lsr.iv43 = phi i64 [ %lsr.iv.next, %B34.loopexit.us ], [ 3, %B36.endif.us.preheader ]
  %lsr.iv27 = phi ptr [ %arg.gaps.4, %B36.endif.us.preheader ], [ %scevgep28, %B34.loopexit.us ]
  %lsr.iv22 = phi ptr [ %arg.gaps.4, %B36.endif.us.preheader ], [ %scevgep23, %B34.loopexit.us ]
  %.133212218.us = phi i64 [ 0, %B36.endif.us.preheader ], [ %.140.us, %B34.loopexit.us ]
  %13 = lshr i64 %.133212218.us, 2
  %14 = shl nuw nsw i64 %13, 2
  %15 = and i64 %.133212218.us, 3
  %16 = and i64 %.133212218.us, %const
  %.140.us = add nuw nsw i64 %.133212218.us, 1
  %.214.us = mul i64 %.133212218.us, %arg.gaps.5.1
  %17 = getelementptr double, ptr %arg.gaps.4, i64 %.214.us
  %.218.us = getelementptr double, ptr %17, i64 %.133212218.us
  store double 0.000000e+00, ptr %.218.us, align 8
  %.300207.not.us = icmp eq i64 %.133212218.us, 0
  br i1 %.300207.not.us, label %B34.loopexit.us, label %B84.us.us.preheader
B84.us.us.preheader:
  %18 = icmp eq i64 %arg.gaps.5.1, 1
  %min.iters.check = icmp samesign ugt i64 %.133212218.us, 3
  %or.cond = select i1 %min.iters.check, i1 %18, i1 false
  br i1 %or.cond, label %vector.body.preheader, label %B84.us.us.preheader7
vector.body.preheader:
  br label %vector.body
vector.body:
  %index = phi i64 [ %index.next, %vector.body ], [ 0, %vector.body.preheader ]
  %19 = shl i64 %index, 3
  %scevgep42 = getelementptr i8, ptr %lsr.iv27, i64 %19
  %scevgep40 = getelementptr i8, ptr %lsr.iv22, i64 %19
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %scevgep42, i8 0, i64 32, i1 false)
  %index.next = add nuw i64 %index, 4
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %scevgep40, i8 0, i64 32, i1 false)
  %20 = icmp eq i64 %14, %index.next
  br i1 %20, label %middle.block, label %vector.body, !llvm.loop !23
middle.block:
  %cmp.n = icmp eq i64 %.133212218.us, %16
  br i1 %cmp.n, label %B34.loopexit.us, label %B84.us.us.preheader7
B84.us.us.preheader7:
  %.306206208.us.us.ph = phi i64 [ 0, %B84.us.us.preheader ], [ %16, %middle.block ]
  %lcmp.mod.not = icmp eq i64 %15, 0
  br i1 %lcmp.mod.not, label %B84.us.us.prol.loopexit, label %B84.us.us.prol.preheader
B84.us.us.prol.preheader:
  %21 = mul i64 %.306206208.us.us.ph, %11
  %scevgep24 = getelementptr i8, ptr %lsr.iv22, i64 %21
  br label %B84.us.us.prol
B84.us.us.prol:
  %lsr.iv31 = phi i64 [ %15, %B84.us.us.prol.preheader ], [ %lsr.iv.next32, %B84.us.us.prol ]
  %lsr.iv25 = phi ptr [ %scevgep24, %B84.us.us.prol.preheader ], [ %scevgep26, %B84.us.us.prol ]
  %.306206208.us.us.prol = phi i64 [ %.306206208.us.us.ph, %B84.us.us.prol.preheader ], [ %.313.us.us.prol, %B84.us.us.prol ]
  %.313.us.us.prol = add nuw nsw i64 %.306206208.us.us.prol, 1
  %22 = shl i64 %.306206208.us.us.prol, 3
  %scevgep29 = getelementptr i8, ptr %lsr.iv27, i64 %22
  store double 0.000000e+00, ptr %scevgep29, align 8
  store double 0.000000e+00, ptr %lsr.iv25, align 8
  %scevgep26 = getelementptr i8, ptr %lsr.iv25, i64 %11
  %lsr.iv.next32 = add nsw i64 %lsr.iv31, -1
  %prol.iter.cmp.not = icmp eq i64 %lsr.iv.next32, 0
  br i1 %prol.iter.cmp.not, label %B84.us.us.prol.loopexit, label %B84.us.us.prol, !llvm.loop !24
B84.us.us.prol.loopexit:
  %.306206208.us.us.unr = phi i64 [ %.306206208.us.us.ph, %B84.us.us.preheader7 ], [ %.313.us.us.prol, %B84.us.us.prol ]
  %23 = sub nsw i64 %.306206208.us.us.ph, %.133212218.us
  %24 = icmp ugt i64 %23, -4
  br i1 %24, label %B34.loopexit.us, label %B84.us.us.preheader10
B84.us.us.preheader10:
  %25 = add nuw i64 %.306206208.us.us.unr, 3
  %26 = mul i64 %25, %arg.gaps.5.1
  %27 = add i64 %26, %.133212218.us
  %28 = add nuw i64 %.306206208.us.us.unr, 1
  %29 = mul i64 %28, %arg.gaps.5.1
  %30 = add i64 %29, %.133212218.us
  %31 = add nuw i64 %.306206208.us.us.unr, 2
  %32 = mul i64 %31, %arg.gaps.5.1
  %33 = add i64 %32, %.133212218.us
  %34 = mul i64 %.306206208.us.us.unr, %arg.gaps.5.1
  %35 = add i64 %34, %.133212218.us
  %36 = add i64 %.306206208.us.us.unr, %lsr.iv43
  br label %B84.us.us
B34.loopexit.us:
  %scevgep23 = getelementptr i8, ptr %lsr.iv22, i64 8
  %scevgep28 = getelementptr i8, ptr %lsr.iv27, i64 %11
  %lsr.iv.next = add i64 %lsr.iv43, %arg.gaps.5.1
  %exitcond227.not.us = icmp eq i64 %arg.count, %.140.us
  br i1 %exitcond227.not.us, label %common.ret, label %B36.endif.us
B84.us.us:
  %lsr.iv45 = phi i64 [ %lsr.iv.next46, %B84.us.us ], [ %36, %B84.us.us.preheader10 ]
  %lsr.iv53 = phi i64 [ %35, %B84.us.us.preheader10 ], [ %lsr.iv.next54, %B84.us.us ]
  %lsr.iv39 = phi i64 [ %33, %B84.us.us.preheader10 ], [ %lsr.iv.next40, %B84.us.us ]
  %lsr.iv36 = phi i64 [ %30, %B84.us.us.preheader10 ], [ %lsr.iv.next37, %B84.us.us ]
  %lsr.iv33 = phi i64 [ %27, %B84.us.us.preheader10 ], [ %lsr.iv.next34, %B84.us.us ]
  %.306206208.us.us = phi i64 [ %.306206208.us.us.unr, %B84.us.us.preheader10 ], [ %.313.us.us.3, %B84.us.us ]
  %37 = shl i64 %lsr.iv45, 3
  %scevgep56 = getelementptr i8, ptr %arg.gaps.4, i64 %37
  %scevgep57 = getelementptr i8, ptr %scevgep56, i64 -24
  store double 0.000000e+00, ptr %scevgep57, align 8
  %38 = shl i64 %lsr.iv53, 3
  %scevgep55 = getelementptr i8, ptr %arg.gaps.4, i64 %38
  store double 0.000000e+00, ptr %scevgep55, align 8
  %39 = shl i64 %lsr.iv45, 3
  %scevgep53 = getelementptr i8, ptr %arg.gaps.4, i64 %39
  %scevgep54 = getelementptr i8, ptr %scevgep53, i64 -16
  store double 0.000000e+00, ptr %scevgep54, align 8
  %40 = shl i64 %lsr.iv36, 3
  %scevgep38 = getelementptr i8, ptr %arg.gaps.4, i64 %40
  store double 0.000000e+00, ptr %scevgep38, align 8
  %41 = shl i64 %lsr.iv45, 3
  %scevgep49 = getelementptr i8, ptr %arg.gaps.4, i64 %41
  %scevgep51 = getelementptr i8, ptr %scevgep49, i64 -8
  store double 0.000000e+00, ptr %scevgep51, align 8
  %42 = shl i64 %lsr.iv39, 3
  %scevgep41 = getelementptr i8, ptr %arg.gaps.4, i64 %42
  store double 0.000000e+00, ptr %scevgep41, align 8
  %.313.us.us.3 = add nuw nsw i64 %.306206208.us.us, 4
  %43 = shl i64 %lsr.iv45, 3
  %scevgep47 = getelementptr i8, ptr %arg.gaps.4, i64 %43
  store double 0.000000e+00, ptr %scevgep47, align 8
  %44 = shl i64 %lsr.iv33, 3
  %scevgep35 = getelementptr i8, ptr %arg.gaps.4, i64 %44
  store double 0.000000e+00, ptr %scevgep35, align 8
  %lsr.iv.next34 = add i64 %lsr.iv33, %12
  %lsr.iv.next37 = add i64 %lsr.iv36, %12
  %lsr.iv.next40 = add i64 %lsr.iv39, %12
  %lsr.iv.next54 = add i64 %lsr.iv53, %12
  %lsr.iv.next46 = add i64 %lsr.iv45, 4
  %exitcond.not.us.us.3 = icmp eq i64 %.133212218.us, %.313.us.us.3
  br i1 %exitcond.not.us.us.3, label %B34.loopexit.us, label %B84.us.us, !llvm.loop !25
B34.loopexit:
  %exitcond227.not = icmp eq i64 %arg.count, %.140
  br i1 %exitcond227.not, label %common.ret, label %B36.endif
B84:
  %.306206208 = phi i64 [ %.313, %B84.endif ], [ 0, %B84.preheader ]
  %45 = getelementptr i64, ptr %arg.ids.4, i64 %.306206208
  %.399 = load i64, ptr %45, align 8
  %sunkaddr77 = mul i64 %.133212218, 8
  %sunkaddr78 = getelementptr i8, ptr %arg.ids.4, i64 %sunkaddr77
  %.369 = load i64, ptr %sunkaddr78, align 8
  %.198.i = icmp slt i64 %.369, 0
  %.199.i = select i1 %.198.i, i64 %arg.points.5.0, i64 0
  %.200.i = add i64 %.199.i, %.369
  %.249.i = icmp slt i64 %.399, 0
  %.250.i = select i1 %.249.i, i64 %arg.points.5.0, i64 0
  %.251.i = add i64 %.250.i, %.399
  %46 = mul i64 %.200.i, %0
  %47 = getelementptr i8, ptr %arg.points.4, i64 %46
  %scevgep6.i = getelementptr i8, ptr %47, i64 24
  %48 = mul i64 %.251.i, %0
  %49 = getelementptr i8, ptr %arg.points.4, i64 %48
  %scevgep14.i = getelementptr i8, ptr %49, i64 24
  br label %B62.i
B62.i:
  %total.2.0116.i = phi double [ 0.000000e+00, %B84 ], [ %.280.3.i, %B62.i ]
  %.143112114.i = phi i64 [ 0, %B84 ], [ %.150.3.i, %B62.i ]
  %50 = shl i64 %.143112114.i, 3
  %scevgep12.i = getelementptr i8, ptr %scevgep6.i, i64 %50
  %scevgep13.i = getelementptr i8, ptr %scevgep12.i, i64 -24
  %.225.i = load double, ptr %scevgep13.i, align 8, !noalias !19
  %scevgep20.i = getelementptr i8, ptr %scevgep14.i, i64 %50
  %scevgep21.i = getelementptr i8, ptr %scevgep20.i, i64 -24
  %.276.i = load double, ptr %scevgep21.i, align 8, !noalias !19
  %.277.i = fsub double %.225.i, %.276.i
  %.278.i = fmul double %.277.i, %.277.i
  %.280.i = fadd double %total.2.0116.i, %.278.i
  %51 = shl i64 %.143112114.i, 3
  %scevgep71 = getelementptr i8, ptr %scevgep6.i, i64 %51
  %scevgep72 = getelementptr i8, ptr %scevgep71, i64 -16
  %.225.1.i = load double, ptr %scevgep72, align 8, !noalias !19
  %52 = shl i64 %.143112114.i, 3
  %scevgep67 = getelementptr i8, ptr %scevgep14.i, i64 %52
  %scevgep68 = getelementptr i8, ptr %scevgep67, i64 -16
  %.276.1.i = load double, ptr %scevgep68, align 8, !noalias !19
  %.277.1.i = fsub double %.225.1.i, %.276.1.i
  %.278.1.i = fmul double %.277.1.i, %.277.1.i
  %.280.1.i = fadd double %.280.i, %.278.1.i
  %53 = shl i64 %.143112114.i, 3
  %scevgep69 = getelementptr i8, ptr %scevgep6.i, i64 %53
  %scevgep70 = getelementptr i8, ptr %scevgep69, i64 -8
  %.225.2.i = load double, ptr %scevgep70, align 8, !noalias !19
  %54 = shl i64 %.143112114.i, 3
  %scevgep61 = getelementptr i8, ptr %scevgep14.i, i64 %54
  %scevgep63 = getelementptr i8, ptr %scevgep61, i64 -8
  %.276.2.i = load double, ptr %scevgep63, align 8, !noalias !19
  %.277.2.i = fsub double %.225.2.i, %.276.2.i
  %.278.2.i = fmul double %.277.2.i, %.277.2.i
  %.280.2.i = fadd double %.280.1.i, %.278.2.i
  %.150.3.i = add nuw nsw i64 %.143112114.i, 4
  %.225.3.i = load double, ptr %scevgep12.i, align 8, !noalias !19
  %.276.3.i = load double, ptr %scevgep20.i, align 8, !noalias !19
  %.277.3.i = fsub double %.225.3.i, %.276.3.i
  %.278.3.i = fmul double %.277.3.i, %.277.3.i
  %.280.3.i = fadd double %.280.2.i, %.278.3.i
  %niter.ncmp.3.i = icmp eq i64 %unroll_iter.i, %.150.3.i
  br i1 %niter.ncmp.3.i, label %B124.loopexit.unr-lcssa.i, label %B62.i
B124.loopexit.unr-lcssa.i:
  %55 = icmp eq i64 %xtraiter.i, 0
  br i1 %55, label %B84.endif, label %B62.epil.preheader.i
B62.epil.preheader.i:
  %56 = mul i64 %.251.i, %arg.points.5.1.fr
  %57 = add i64 %unroll_iter.i, %56
  %58 = shl i64 %57, 3
  %scevgep.i = getelementptr i8, ptr %arg.points.4, i64 %58
  %59 = mul i64 %.200.i, %arg.points.5.1.fr
  %60 = add i64 %unroll_iter.i, %59
  %61 = shl i64 %60, 3
  %scevgep4.i = getelementptr i8, ptr %arg.points.4, i64 %61
  br label %B62.epil.i
B62.epil.i:
  %total.2.0116.epil.i = phi double [ %.280.3.i, %B62.epil.preheader.i ], [ %.280.epil.i, %B62.epil.i ]
  %epil.iter.i = phi i64 [ 0, %B62.epil.preheader.i ], [ %epil.iter.next.i, %B62.epil.i ]
  %62 = shl nuw nsw i64 %epil.iter.i, 3
  %scevgep74 = getelementptr i8, ptr %scevgep4.i, i64 %62
  %.225.epil.i = load double, ptr %scevgep74, align 8, !noalias !19
  %63 = shl nuw nsw i64 %epil.iter.i, 3
  %scevgep73 = getelementptr i8, ptr %scevgep.i, i64 %63
  %.276.epil.i = load double, ptr %scevgep73, align 8, !noalias !19
  %.277.epil.i = fsub double %.225.epil.i, %.276.epil.i
  %.278.epil.i = fmul double %.277.epil.i, %.277.epil.i
  %.280.epil.i = fadd double %total.2.0116.epil.i, %.278.epil.i
  %epil.iter.next.i = add nuw nsw i64 %epil.iter.i, 1
  %epil.iter.cmp.not.i = icmp eq i64 %xtraiter.i, %epil.iter.next.i
  br i1 %epil.iter.cmp.not.i, label %B84.endif, label %B62.epil.i, !llvm.loop !22
common.ret:
  store ptr null, ptr %retptr, align 8
  ret i32 0
B36.endif:
  %.133212218 = phi i64 [ %.140, %B34.loopexit ], [ 0, %B36.endif.preheader38 ]
  %.140 = add nuw nsw i64 %.133212218, 1
  %.214 = mul i64 %.133212218, %arg.gaps.5.1
  %64 = getelementptr double, ptr %arg.gaps.4, i64 %.214
  %.218 = getelementptr double, ptr %64, i64 %.133212218
  store double 0.000000e+00, ptr %.218, align 8
  %invariant.gep = getelementptr double, ptr %arg.gaps.4, i64 %.133212218
  %.300207.not = icmp eq i64 %.133212218, 0
  br i1 %.300207.not, label %B34.loopexit, label %B84.preheader
B84.preheader:
  br label %B84
B84.endif:
  %total.2.0.lcssa.i = phi double [ %.280.3.i, %B124.loopexit.unr-lcssa.i ], [ %.280.epil.i, %B62.epil.i ]
  %.313 = add nuw nsw i64 %.306206208, 1
  %65 = getelementptr double, ptr %64, i64 %.306206208
  store double %total.2.0.lcssa.i, ptr %65, align 8
  %.530 = mul i64 %.306206208, %arg.gaps.5.1
  %gep = getelementptr double, ptr %invariant.gep, i64 %.530
  store double %total.2.0.lcssa.i, ptr %gep, align 8
  %exitcond.not = icmp eq i64 %.313, %.133212218
  br i1 %exitcond.not, label %B34.loopexit, label %B84
}
define linkonce_odr noundef range(i32 -1, -2) i32 @pramana.rework.2(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, ptr readnone captures(none) %arg.gaps.0, ptr readnone captures(none) %arg.gaps.1, i64 %arg.gaps.2, i64 %arg.gaps.3, ptr readonly captures(address) %arg.gaps.4, i64 %arg.gaps.5.0, i64 %arg.gaps.5.1, i64 %arg.gaps.6.0, i64 %arg.gaps.6.1, ptr readnone captures(none) %arg.labels.0, ptr readnone captures(none) %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr captures(none) %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, i64 %arg.count, i64 %arg.groups, ptr readnone captures(none) %arg.sums.0, ptr readnone captures(none) %arg.sums.1, i64 %arg.sums.2, i64 %arg.sums.3, ptr captures(address) %arg.sums.4, i64 %arg.sums.5.0, i64 %arg.sums.5.1, i64 %arg.sums.6.0, i64 %arg.sums.6.1, ptr readnone captures(none) %arg.inner.0, ptr readnone captures(none) %arg.inner.1, i64 %arg.inner.2, i64 %arg.inner.3, ptr captures(none) %arg.inner.4, i64 %arg.inner.5.0, i64 %arg.inner.6.0, ptr readnone captures(none) %arg.sizes.0, ptr readnone captures(none) %arg.sizes.1, i64 %arg.sizes.2, i64 %arg.sizes.3, ptr captures(none) %arg.sizes.4, i64 %arg.sizes.5.0, i64 %arg.sizes.6.0) local_unnamed_addr #0 {
B0.endif:
  %.111 = icmp sgt i64 %arg.groups, 0
  br i1 %.111, label %B36.endif.lr.ph, label %B144.endif.lr.ph
B36.endif.lr.ph:
  %0 = icmp slt i64 %arg.count, 1
  br i1 %0, label %B36.endif.preheader, label %B36.endif.us.preheader
B36.endif.preheader:
  %1 = ptrtoint ptr %arg.inner.4 to i64
  %2 = ptrtoint ptr %arg.sizes.4 to i64
  %min.iters.check = icmp samesign ult i64 %arg.groups, 4
  %3 = sub i64 %1, %2
  %diff.check = icmp ult i64 %3, 32
  %or.cond = select i1 %min.iters.check, i1 true, i1 %diff.check
  br i1 %or.cond, label %B36.endif.preheader92, label %vector.ph
vector.ph:
  %const93 = bitcast i64 9223372036854775804 to i64
  %n.vec = and i64 %arg.groups, %const93
  br label %vector.body
vector.body:
  %index = phi i64 [ 0, %vector.ph ], [ %index.next, %vector.body ]
  %sunkaddr = shl i64 %index, 3
  %sunkaddr207 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr
  %sunkaddr212 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %sunkaddr207, i8 0, i64 32, i1 false)
  %index.next = add nuw nsw i64 %index, 4
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %sunkaddr212, i8 0, i64 32, i1 false)
  %4 = icmp eq i64 %n.vec, %index.next
  br i1 %4, label %middle.block, label %vector.body, !llvm.loop !26
middle.block:
  %cmp.n = icmp eq i64 %arg.groups, %n.vec
  br i1 %cmp.n, label %middle.block.B460.preheader.thread_crit_edge, label %B36.endif.preheader92
middle.block.B460.preheader.thread_crit_edge:
  %.pre6 = and i64 %arg.groups, 3
  br label %B460.preheader.new
B36.endif.preheader92:
  %.161503509.ph = phi i64 [ 0, %B36.endif.preheader ], [ %n.vec, %middle.block ]
  %xtraiter94 = and i64 %arg.groups, 3
  %lcmp.mod95.not = icmp eq i64 %xtraiter94, 0
  br i1 %lcmp.mod95.not, label %B36.endif.prol.loopexit, label %B36.endif.prol.preheader
B36.endif.prol.preheader:
  br label %B36.endif.prol
B36.endif.prol:
  %lsr.iv = phi i64 [ %lsr.iv.next, %B36.endif.prol ], [ %xtraiter94, %B36.endif.prol.preheader ]
  %.161503509.prol = phi i64 [ %.168.prol, %B36.endif.prol ], [ %.161503509.ph, %B36.endif.prol.preheader ]
  %.168.prol = add nuw nsw i64 %.161503509.prol, 1
  %5 = shl i64 %.161503509.prol, 3
  %scevgep140 = getelementptr i8, ptr %arg.sizes.4, i64 %5
  store i64 0, ptr %scevgep140, align 8
  %scevgep139 = getelementptr i8, ptr %arg.inner.4, i64 %5
  store double 0.000000e+00, ptr %scevgep139, align 8
  %lsr.iv.next = add nsw i64 %lsr.iv, -1
  %prol.iter.cmp.not = icmp eq i64 %lsr.iv.next, 0
  br i1 %prol.iter.cmp.not, label %B36.endif.prol.loopexit, label %B36.endif.prol, !llvm.loop !27
B36.endif.prol.loopexit:
  %.161503509.unr = phi i64 [ %.161503509.ph, %B36.endif.preheader92 ], [ %.168.prol, %B36.endif.prol ]
  %6 = sub nsw i64 %.161503509.ph, %arg.groups
  %7 = icmp ugt i64 %6, -4
  br i1 %7, label %B460.preheader, label %B36.endif.preheader16
B36.endif.preheader16:
  br label %B36.endif
B36.endif.us.preheader:
  %8 = shl i64 %arg.sums.5.1, 3
  %9 = shl nuw i64 %arg.count, 3
  %10 = icmp eq i64 %arg.groups, 1
  br i1 %10, label %B36.endif.us.epil.preheader, label %B36.endif.us.preheader.new
B36.endif.us.preheader.new:
  %const92 = bitcast i64 9223372036854775804 to i64
  %const_mat = add i64 %const92, 2
  %unroll_iter = and i64 %arg.groups, %const_mat
  %11 = shl i64 %arg.sums.5.1, 4
  %12 = add nsw i64 %arg.groups, -2
  %13 = lshr i64 %12, 1
  %14 = add nuw i64 %13, 1
  %15 = icmp eq i64 %13, 0
  br i1 %15, label %B36.endif.us.epil.preheader9, label %B36.endif.us.preheader.new.new
B36.endif.us.preheader.new.new:
  %unroll_iter13 = and i64 %14, -2
  br label %B36.endif.us
B36.endif.us:
  %lsr.iv86 = phi i64 [ %lsr.iv.next87, %B36.endif.us ], [ %unroll_iter13, %B36.endif.us.preheader.new.new ]
  %lsr.iv194 = phi ptr [ %arg.sums.4, %B36.endif.us.preheader.new.new ], [ %scevgep91, %B36.endif.us ]
  %.161503509.us = phi i64 [ 0, %B36.endif.us.preheader.new.new ], [ %.168.us.1.1, %B36.endif.us ]
  %sunkaddr94 = mul i64 %.161503509.us, 8
  %sunkaddr95 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr94
  store i64 0, ptr %sunkaddr95, align 8
  %sunkaddr96 = mul i64 %.161503509.us, 8
  %sunkaddr97 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr96
  store double 0.000000e+00, ptr %sunkaddr97, align 8
  tail call void @llvm.memset.p0.i64(ptr align 8 %lsr.iv194, i8 0, i64 %9, i1 false)
  %sunkaddr98 = mul i64 %.161503509.us, 8
  %sunkaddr99 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr98
  %sunkaddr100 = getelementptr i8, ptr %sunkaddr99, i64 8
  store i64 0, ptr %sunkaddr100, align 8
  %sunkaddr101 = mul i64 %.161503509.us, 8
  %sunkaddr102 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr101
  %sunkaddr103 = getelementptr i8, ptr %sunkaddr102, i64 8
  store double 0.000000e+00, ptr %sunkaddr103, align 8
  %scevgep88 = getelementptr i8, ptr %lsr.iv194, i64 %8
  tail call void @llvm.memset.p0.i64(ptr align 8 %scevgep88, i8 0, i64 %9, i1 false)
  %scevgep195 = getelementptr i8, ptr %lsr.iv194, i64 %11
  %sunkaddr104 = mul i64 %.161503509.us, 8
  %sunkaddr105 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr104
  %sunkaddr106 = getelementptr i8, ptr %sunkaddr105, i64 16
  store i64 0, ptr %sunkaddr106, align 8
  %sunkaddr107 = mul i64 %.161503509.us, 8
  %sunkaddr108 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr107
  %sunkaddr109 = getelementptr i8, ptr %sunkaddr108, i64 16
  store double 0.000000e+00, ptr %sunkaddr109, align 8
  %scevgep89 = getelementptr i8, ptr %scevgep88, i64 %8
  tail call void @llvm.memset.p0.i64(ptr align 8 %scevgep89, i8 0, i64 %9, i1 false)
  %sunkaddr110 = mul i64 %.161503509.us, 8
  %sunkaddr111 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr110
  %sunkaddr112 = getelementptr i8, ptr %sunkaddr111, i64 24
  store i64 0, ptr %sunkaddr112, align 8
  %sunkaddr113 = mul i64 %.161503509.us, 8
  %sunkaddr114 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr113
  %sunkaddr115 = getelementptr i8, ptr %sunkaddr114, i64 24
  store double 0.000000e+00, ptr %sunkaddr115, align 8
  %scevgep90 = getelementptr i8, ptr %scevgep89, i64 %8
  tail call void @llvm.memset.p0.i64(ptr align 8 %scevgep90, i8 0, i64 %9, i1 false)
  %.168.us.1.1 = add i64 %.161503509.us, 4
  %scevgep195.1 = getelementptr i8, ptr %scevgep195, i64 %11
  %lsr.iv.next87 = add i64 %lsr.iv86, -2
  %niter.ncmp.114 = icmp eq i64 %lsr.iv.next87, 0
  %scevgep91 = getelementptr i8, ptr %scevgep90, i64 %8
  br i1 %niter.ncmp.114, label %B178.us.preheader.loopexit.unr-lcssa.unr-lcssa, label %B36.endif.us
B460:
  %total.2.0588 = phi double [ 0.000000e+00, %B460.preheader.new ], [ %.1357.3, %B460 ]
  %.1259584586 = phi i64 [ 0, %B460.preheader.new ], [ %.1266.3, %B460 ]
  %sunkaddr116 = mul i64 %.1259584586, 8
  %sunkaddr117 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr116
  %.1320 = load double, ptr %sunkaddr117, align 8
  %sunkaddr118 = mul i64 %.1259584586, 8
  %sunkaddr119 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr118
  %.1350 = load i64, ptr %sunkaddr119, align 8
  %.1351 = sitofp i64 %.1350 to double
  %.1355 = fdiv double %.1320, %.1351
  %.1357 = fadd double %total.2.0588, %.1355
  %sunkaddr120 = mul i64 %.1259584586, 8
  %sunkaddr121 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr120
  %sunkaddr122 = getelementptr i8, ptr %sunkaddr121, i64 8
  %.1320.1 = load double, ptr %sunkaddr122, align 8
  %sunkaddr123 = mul i64 %.1259584586, 8
  %sunkaddr124 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr123
  %sunkaddr125 = getelementptr i8, ptr %sunkaddr124, i64 8
  %.1350.1 = load i64, ptr %sunkaddr125, align 8
  %.1351.1 = sitofp i64 %.1350.1 to double
  %.1355.1 = fdiv double %.1320.1, %.1351.1
  %.1357.1 = fadd double %.1357, %.1355.1
  %sunkaddr126 = mul i64 %.1259584586, 8
  %sunkaddr127 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr126
  %sunkaddr128 = getelementptr i8, ptr %sunkaddr127, i64 16
  %.1320.2 = load double, ptr %sunkaddr128, align 8
  %sunkaddr129 = mul i64 %.1259584586, 8
  %sunkaddr130 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr129
  %sunkaddr131 = getelementptr i8, ptr %sunkaddr130, i64 16
  %.1350.2 = load i64, ptr %sunkaddr131, align 8
  %.1351.2 = sitofp i64 %.1350.2 to double
  %.1355.2 = fdiv double %.1320.2, %.1351.2
  %.1357.2 = fadd double %.1357.1, %.1355.2
  %.1266.3 = add nuw i64 %.1259584586, 4
  %sunkaddr132 = mul i64 %.1259584586, 8
  %sunkaddr133 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr132
  %sunkaddr134 = getelementptr i8, ptr %sunkaddr133, i64 24
  %.1320.3 = load double, ptr %sunkaddr134, align 8
  %sunkaddr135 = mul i64 %.1259584586, 8
  %sunkaddr136 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr135
  %sunkaddr137 = getelementptr i8, ptr %sunkaddr136, i64 24
  %.1350.3 = load i64, ptr %sunkaddr137, align 8
  %.1351.3 = sitofp i64 %.1350.3 to double
  %.1355.3 = fdiv double %.1320.3, %.1351.3
  %.1357.3 = fadd double %.1357.2, %.1355.3
  %niter101.ncmp.3 = icmp eq i64 %unroll_iter100, %.1266.3
  br i1 %niter101.ncmp.3, label %common.ret.loopexit.unr-lcssa, label %B460
common.ret.loopexit.unr-lcssa:
  %lcmp.mod97.not = icmp eq i64 %xtraiter962, 0
  br i1 %lcmp.mod97.not, label %common.ret, label %B460.epil.preheader
B460.epil.preheader:
  %xtraiter963 = phi i64 [ %xtraiter96.pre-phi, %B460.preheader ], [ %xtraiter962, %common.ret.loopexit.unr-lcssa ]
  %total.2.0588.epil.init = phi double [ 0.000000e+00, %B460.preheader ], [ %.1357.3, %common.ret.loopexit.unr-lcssa ]
  %.1259584586.epil.init = phi i64 [ 0, %B460.preheader ], [ %unroll_iter100, %common.ret.loopexit.unr-lcssa ]
  %16 = shl i64 %.1259584586.epil.init, 3
  %scevgep103 = getelementptr i8, ptr %arg.sizes.4, i64 %16
  %scevgep105 = getelementptr i8, ptr %arg.inner.4, i64 %16
  br label %B460.epil
B460.epil:
  %total.2.0588.epil = phi double [ %.1357.epil, %B460.epil ], [ %total.2.0588.epil.init, %B460.epil.preheader ]
  %epil.iter = phi i64 [ %epil.iter.next, %B460.epil ], [ 0, %B460.epil.preheader ]
  %17 = shl i64 %epil.iter, 3
  %scevgep17 = getelementptr i8, ptr %scevgep105, i64 %17
  %.1320.epil = load double, ptr %scevgep17, align 8
  %18 = shl i64 %epil.iter, 3
  %scevgep = getelementptr i8, ptr %scevgep103, i64 %18
  %.1350.epil = load i64, ptr %scevgep, align 8
  %.1351.epil = sitofp i64 %.1350.epil to double
  %.1355.epil = fdiv double %.1320.epil, %.1351.epil
  %.1357.epil = fadd double %total.2.0588.epil, %.1355.epil
  %epil.iter.next = add i64 %epil.iter, 1
  %epil.iter.cmp.not = icmp eq i64 %xtraiter963, %epil.iter.next
  br i1 %epil.iter.cmp.not, label %common.ret, label %B460.epil, !llvm.loop !28
common.ret:
  %total.2.0.lcssa = phi double [ 0.000000e+00, %B424.endif ], [ 0.000000e+00, %B144.endif.lr.ph ], [ %.1357.3, %common.ret.loopexit.unr-lcssa ], [ %.1357.epil, %B460.epil ]
  store double %total.2.0.lcssa, ptr %retptr, align 8
  ret i32 0
B36.endif:
  %.161503509 = phi i64 [ %.168.3, %B36.endif ], [ %.161503509.unr, %B36.endif.preheader16 ]
  %sunkaddr138 = mul i64 %.161503509, 8
  %sunkaddr139 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr138
  store i64 0, ptr %sunkaddr139, align 8
  %sunkaddr140 = mul i64 %.161503509, 8
  %sunkaddr141 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr140
  store double 0.000000e+00, ptr %sunkaddr141, align 8
  %sunkaddr142 = mul i64 %.161503509, 8
  %sunkaddr143 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr142
  %sunkaddr144 = getelementptr i8, ptr %sunkaddr143, i64 8
  store i64 0, ptr %sunkaddr144, align 8
  %sunkaddr145 = mul i64 %.161503509, 8
  %sunkaddr146 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr145
  %sunkaddr147 = getelementptr i8, ptr %sunkaddr146, i64 8
  store double 0.000000e+00, ptr %sunkaddr147, align 8
  %sunkaddr148 = mul i64 %.161503509, 8
  %sunkaddr149 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr148
  %sunkaddr150 = getelementptr i8, ptr %sunkaddr149, i64 16
  store i64 0, ptr %sunkaddr150, align 8
  %sunkaddr151 = mul i64 %.161503509, 8
  %sunkaddr152 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr151
  %sunkaddr153 = getelementptr i8, ptr %sunkaddr152, i64 16
  store double 0.000000e+00, ptr %sunkaddr153, align 8
  %.168.3 = add nuw nsw i64 %.161503509, 4
  %sunkaddr154 = mul i64 %.161503509, 8
  %sunkaddr155 = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr154
  %sunkaddr156 = getelementptr i8, ptr %sunkaddr155, i64 24
  store i64 0, ptr %sunkaddr156, align 8
  %sunkaddr157 = mul i64 %.161503509, 8
  %sunkaddr158 = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr157
  %sunkaddr159 = getelementptr i8, ptr %sunkaddr158, i64 24
  store double 0.000000e+00, ptr %sunkaddr159, align 8
  %exitcond596.not.3 = icmp eq i64 %arg.groups, %.168.3
  br i1 %exitcond596.not.3, label %B460.preheader.new, label %B36.endif, !llvm.loop !29
B144.endif.lr.ph:
  %19 = icmp slt i64 %arg.count, 1
  br i1 %19, label %common.ret, label %B178.us.preheader
B178.us.preheader.loopexit.unr-lcssa.unr-lcssa:
  %20 = and i64 %14, 1
  %lcmp.mod.not15 = icmp eq i64 %20, 0
  br i1 %lcmp.mod.not15, label %B178.us.preheader.loopexit.unr-lcssa, label %B36.endif.us.epil.preheader9
B36.endif.us.epil.preheader9:
  %lsr.iv194.epil.init = phi ptr [ %arg.sums.4, %B36.endif.us.preheader.new ], [ %scevgep195.1, %B178.us.preheader.loopexit.unr-lcssa.unr-lcssa ]
  %.161503509.us.epil.init11 = phi i64 [ 0, %B36.endif.us.preheader.new ], [ %.168.us.1.1, %B178.us.preheader.loopexit.unr-lcssa.unr-lcssa ]
  %sunkaddr216.epil = shl i64 %.161503509.us.epil.init11, 3
  %sunkaddr217.epil = getelementptr i8, ptr %arg.sizes.4, i64 %sunkaddr216.epil
  store i64 0, ptr %sunkaddr217.epil, align 8
  %sunkaddr219.epil = getelementptr i8, ptr %arg.inner.4, i64 %sunkaddr216.epil
  store double 0.000000e+00, ptr %sunkaddr219.epil, align 8
  tail call void @llvm.memset.p0.i64(ptr align 8 %lsr.iv194.epil.init, i8 0, i64 %9, i1 false)
  %scevgep196.epil = getelementptr i8, ptr %lsr.iv194.epil.init, i64 %8
  %sunkaddr222.epil = getelementptr i8, ptr %sunkaddr217.epil, i64 8
  store i64 0, ptr %sunkaddr222.epil, align 8
  %sunkaddr225.epil = getelementptr i8, ptr %sunkaddr219.epil, i64 8
  store double 0.000000e+00, ptr %sunkaddr225.epil, align 8
  tail call void @llvm.memset.p0.i64(ptr align 8 %scevgep196.epil, i8 0, i64 %9, i1 false)
  br label %B178.us.preheader.loopexit.unr-lcssa
B178.us.preheader.loopexit.unr-lcssa:
  %21 = and i64 %arg.groups, 1
  %lcmp.mod.not = icmp eq i64 %21, 0
  br i1 %lcmp.mod.not, label %B178.us.preheader, label %B36.endif.us.epil.preheader
B36.endif.us.epil.preheader:
  %.161503509.us.epil.init = phi i64 [ 0, %B36.endif.us.preheader ], [ %unroll_iter, %B178.us.preheader.loopexit.unr-lcssa ]
  %22 = mul i64 %.161503509.us.epil.init, %8
  %scevgep.epil = getelementptr i8, ptr %arg.sums.4, i64 %22
  %23 = getelementptr i64, ptr %arg.sizes.4, i64 %.161503509.us.epil.init
  store i64 0, ptr %23, align 8
  %24 = getelementptr double, ptr %arg.inner.4, i64 %.161503509.us.epil.init
  store double 0.000000e+00, ptr %24, align 8
  tail call void @llvm.memset.p0.i64(ptr align 8 %scevgep.epil, i8 0, i64 %9, i1 false)
  br label %B178.us.preheader
B178.us.preheader:
  %const = bitcast i64 9223372036854775804 to i64
  %n.vec.i = and i64 %arg.count, %const
  %xtraiter.i = and i64 %arg.count, 3
  %scevgep174 = getelementptr i8, ptr %arg.gaps.4, i64 16
  %25 = shl i64 %arg.gaps.5.1, 3
  br label %B178.us
B178.us:
  %lsr.iv180 = phi ptr [ %arg.gaps.4, %B178.us.preheader ], [ %scevgep181, %B505.us ]
  %lsr.iv175 = phi ptr [ %scevgep174, %B178.us.preheader ], [ %scevgep176, %B505.us ]
  %.649529539.us = phi i64 [ 0, %B178.us.preheader ], [ %.656.us, %B505.us ]
  %.656.us = add nuw nsw i64 %.649529539.us, 1
  %26 = getelementptr i64, ptr %arg.labels.4, i64 %.649529539.us
  %.714.us = load i64, ptr %26, align 8
  %.719.us = icmp slt i64 %.714.us, 0
  br i1 %.719.us, label %B505.us, label %B374.us
B374.us:
  %27 = icmp ult i64 %arg.count, 18
  %28 = getelementptr i64, ptr %arg.sizes.4, i64 %.714.us
  %.295.i = load i64, ptr %28, align 8, !noalias !30
  %.296.i = add nsw i64 %.295.i, 1
  store i64 %.296.i, ptr %28, align 8, !noalias !30
  %29 = getelementptr double, ptr %arg.inner.4, i64 %.714.us
  %.360.i = load double, ptr %29, align 8, !noalias !30
  %.407.i = mul i64 %.714.us, %arg.sums.5.1
  %30 = getelementptr double, ptr %arg.sums.4, i64 %.407.i
  %31 = getelementptr double, ptr %30, i64 %.649529539.us
  %.412.i = load double, ptr %31, align 8, !noalias !30
  %.413.i = fadd double %.360.i, %.412.i
  store double %.413.i, ptr %29, align 8, !noalias !30
  %sunkaddr270 = shl i64 %.649529539.us, 3
  %sunkaddr271 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr270
  store i64 %.714.us, ptr %sunkaddr271, align 8, !noalias !30
  br i1 %27, label %B336.preheader.i, label %vector.memcheck.i
vector.memcheck.i:
  %.704.i = mul i64 %.649529539.us, %arg.gaps.5.1
  %32 = getelementptr double, ptr %arg.gaps.4, i64 %.704.i
  %33 = add i64 %.407.i, %arg.count
  %34 = shl i64 %33, 3
  %scevgep.i = getelementptr i8, ptr %arg.sums.4, i64 %34
  %35 = add i64 %.704.i, %arg.count
  %36 = shl i64 %35, 3
  %scevgep1.i = getelementptr i8, ptr %arg.gaps.4, i64 %36
  %bound0.i = icmp ult ptr %30, %scevgep1.i
  %bound1.i = icmp ult ptr %32, %scevgep.i
  %found.conflict.i = and i1 %bound0.i, %bound1.i
  br i1 %found.conflict.i, label %B336.preheader.i, label %vector.ph.i
vector.ph.i:
  %37 = shl i64 %.407.i, 3
  %38 = getelementptr i8, ptr %arg.sums.4, i64 %37
  %scevgep28.i = getelementptr i8, ptr %38, i64 16
  br label %vector.body.i
vector.body.i:
  %index.i = phi i64 [ 0, %vector.ph.i ], [ %index.next.i, %vector.body.i ]
  %39 = shl i64 %index.i, 3
  %scevgep30.i = getelementptr i8, ptr %scevgep28.i, i64 %39
  %scevgep31.i = getelementptr i8, ptr %scevgep30.i, i64 -16
  %wide.load.i = load <2 x double>, ptr %scevgep31.i, align 8, !alias.scope !33, !noalias !36
  %wide.load2.i = load <2 x double>, ptr %scevgep30.i, align 8, !alias.scope !33, !noalias !36
  %scevgep177 = getelementptr i8, ptr %lsr.iv175, i64 %39
  %40 = shl i64 %index.i, 3
  %scevgep60 = getelementptr i8, ptr %lsr.iv175, i64 %40
  %scevgep61 = getelementptr i8, ptr %scevgep60, i64 -16
  %wide.load3.i = load <2 x double>, ptr %scevgep61, align 8, !alias.scope !38, !noalias !30
  %wide.load4.i = load <2 x double>, ptr %scevgep177, align 8, !alias.scope !38, !noalias !30
  %41 = fadd <2 x double> %wide.load.i, %wide.load3.i
  %42 = fadd <2 x double> %wide.load2.i, %wide.load4.i
  store <2 x double> %41, ptr %scevgep31.i, align 8, !alias.scope !33, !noalias !36
  store <2 x double> %42, ptr %scevgep30.i, align 8, !alias.scope !33, !noalias !36
  %index.next.i = add nuw nsw i64 %index.i, 4
  %43 = icmp eq i64 %n.vec.i, %index.next.i
  br i1 %43, label %middle.block.i, label %vector.body.i, !llvm.loop !39
middle.block.i:
  %44 = icmp eq i64 %arg.count, %n.vec.i
  br i1 %44, label %B505.us, label %B336.preheader.i
B336.preheader.i:
  %.571374376.ph.i = phi i64 [ 0, %vector.memcheck.i ], [ 0, %B374.us ], [ %n.vec.i, %middle.block.i ]
  %45 = icmp eq i64 %xtraiter.i, 0
  br i1 %45, label %B336.prol.loopexit.i, label %B336.prol.i.preheader
B336.prol.i.preheader:
  br label %B336.prol.i
B336.prol.i:
  %lsr.iv.i = phi i64 [ %lsr.iv.next.i, %B336.prol.i ], [ %xtraiter.i, %B336.prol.i.preheader ]
  %.571374376.prol.i = phi i64 [ %.578.prol.i, %B336.prol.i ], [ %.571374376.ph.i, %B336.prol.i.preheader ]
  %.578.prol.i = add nuw nsw i64 %.571374376.prol.i, 1
  %46 = shl i64 %.571374376.prol.i, 3
  %scevgep23.i = getelementptr i8, ptr %30, i64 %46
  %.657.prol.i = load double, ptr %scevgep23.i, align 8, !noalias !30
  %scevgep182 = getelementptr i8, ptr %lsr.iv180, i64 %46
  %.709.prol.i = load double, ptr %scevgep182, align 8, !noalias !30
  %.710.prol.i = fadd double %.657.prol.i, %.709.prol.i
  store double %.710.prol.i, ptr %scevgep23.i, align 8, !noalias !30
  %lsr.iv.next.i = add nsw i64 %lsr.iv.i, -1
  %prol.iter.cmp.not.i = icmp eq i64 %lsr.iv.next.i, 0
  br i1 %prol.iter.cmp.not.i, label %B336.prol.loopexit.i, label %B336.prol.i, !llvm.loop !40
B336.prol.loopexit.i:
  %.571374376.unr.i = phi i64 [ %.571374376.ph.i, %B336.preheader.i ], [ %.578.prol.i, %B336.prol.i ]
  %47 = sub nsw i64 %.571374376.ph.i, %arg.count
  %48 = icmp ugt i64 %47, -4
  br i1 %48, label %B505.us, label %B336.preheader5.i
B336.preheader5.i:
  %49 = shl i64 %.407.i, 3
  %50 = getelementptr i8, ptr %arg.sums.4, i64 %49
  %scevgep14.i = getelementptr i8, ptr %50, i64 24
  br label %B336.i
B336.i:
  %.571374376.i = phi i64 [ %.578.3.i, %B336.i ], [ %.571374376.unr.i, %B336.preheader5.i ]
  %51 = shl i64 %.571374376.i, 3
  %scevgep18.i = getelementptr i8, ptr %scevgep14.i, i64 %51
  %scevgep19.i = getelementptr i8, ptr %scevgep18.i, i64 -24
  %.657.i = load double, ptr %scevgep19.i, align 8, !noalias !30
  %scevgep188 = getelementptr i8, ptr %lsr.iv180, i64 %51
  %scevgep189 = getelementptr i8, ptr %scevgep188, i64 24
  %.709.i = load double, ptr %scevgep188, align 8, !noalias !30
  %.710.i = fadd double %.657.i, %.709.i
  store double %.710.i, ptr %scevgep19.i, align 8, !noalias !30
  %52 = shl i64 %.571374376.i, 3
  %scevgep64 = getelementptr i8, ptr %scevgep14.i, i64 %52
  %scevgep65 = getelementptr i8, ptr %scevgep64, i64 -16
  %.657.1.i = load double, ptr %scevgep65, align 8, !noalias !30
  %scevgep68 = getelementptr i8, ptr %lsr.iv180, i64 %52
  %scevgep69 = getelementptr i8, ptr %scevgep68, i64 8
  %.709.1.i = load double, ptr %scevgep69, align 8, !noalias !30
  %.710.1.i = fadd double %.657.1.i, %.709.1.i
  store double %.710.1.i, ptr %scevgep65, align 8, !noalias !30
  %53 = shl i64 %.571374376.i, 3
  %scevgep62 = getelementptr i8, ptr %scevgep14.i, i64 %53
  %scevgep63 = getelementptr i8, ptr %scevgep62, i64 -8
  %.657.2.i = load double, ptr %scevgep63, align 8, !noalias !30
  %scevgep66 = getelementptr i8, ptr %lsr.iv180, i64 %53
  %scevgep67 = getelementptr i8, ptr %scevgep66, i64 16
  %.709.2.i = load double, ptr %scevgep67, align 8, !noalias !30
  %.710.2.i = fadd double %.657.2.i, %.709.2.i
  store double %.710.2.i, ptr %scevgep63, align 8, !noalias !30
  %.578.3.i = add nuw nsw i64 %.571374376.i, 4
  %.657.3.i = load double, ptr %scevgep18.i, align 8, !noalias !30
  %.709.3.i = load double, ptr %scevgep189, align 8, !noalias !30
  %.710.3.i = fadd double %.657.3.i, %.709.3.i
  store double %.710.3.i, ptr %scevgep18.i, align 8, !noalias !30
  %exitcond.not.3.i = icmp eq i64 %arg.count, %.578.3.i
  br i1 %exitcond.not.3.i, label %B505.us, label %B336.i, !llvm.loop !41
B505.us:
  %scevgep176 = getelementptr i8, ptr %lsr.iv175, i64 %25
  %scevgep181 = getelementptr i8, ptr %lsr.iv180, i64 %25
  %exitcond598.not = icmp eq i64 %arg.count, %.656.us
  br i1 %exitcond598.not, label %B176.B142.loopexit_crit_edge.us, label %B178.us
B176.B142.loopexit_crit_edge.us:
  %54 = shl i64 %arg.sums.5.1, 3
  br label %B178.us.1
B178.us.1:
  %lsr.iv160 = phi ptr [ %scevgep161, %B505.us.1 ], [ %arg.gaps.4, %B176.B142.loopexit_crit_edge.us ]
  %lsr.iv155 = phi ptr [ %scevgep156, %B505.us.1 ], [ %scevgep174, %B176.B142.loopexit_crit_edge.us ]
  %lsr.iv150 = phi ptr [ %scevgep151, %B505.us.1 ], [ %arg.sums.4, %B176.B142.loopexit_crit_edge.us ]
  %.649529539.us.1 = phi i64 [ %.656.us.1, %B505.us.1 ], [ 0, %B176.B142.loopexit_crit_edge.us ]
  %.656.us.1 = add nuw nsw i64 %.649529539.us.1, 1
  %55 = getelementptr i64, ptr %arg.labels.4, i64 %.649529539.us.1
  %.714.us.1 = load i64, ptr %55, align 8
  %.719.us.1 = icmp slt i64 %.714.us.1, 0
  br i1 %.719.us.1, label %B256.endif.us.1, label %B505.us.1
B256.endif.us.1:
  %56 = icmp slt i64 %arg.groups, 1
  br i1 %56, label %B374.us.1, label %B274.lr.ph.us.1
B274.lr.ph.us.1:
  %invariant.gep.us.1 = getelementptr double, ptr %arg.sums.4, i64 %.649529539.us.1
  br label %B274.us.1
B274.us.1:
  %lsr.iv152 = phi ptr [ %scevgep153, %B372.us.1 ], [ %lsr.iv150, %B274.lr.ph.us.1 ]
  %g.4.3523.us.1 = phi i64 [ %g.5.5.us.1, %B372.us.1 ], [ %.714.us.1, %B274.lr.ph.us.1 ]
  %.855519521.us.1 = phi i64 [ %.862.us.1, %B372.us.1 ], [ 0, %B274.lr.ph.us.1 ]
  %.862.us.1 = add nuw nsw i64 %.855519521.us.1, 1
  %.891.us.1 = icmp slt i64 %g.4.3523.us.1, 0
  br i1 %.891.us.1, label %B368.us.1, label %B288.us.1
B288.us.1:
  %.948.us.1 = load double, ptr %lsr.iv152, align 8
  %57 = shl i64 %.855519521.us.1, 3
  %scevgep149 = getelementptr i8, ptr %arg.sizes.4, i64 %57
  %.979.us.1 = load i64, ptr %scevgep149, align 8
  %.980.us.1 = sitofp i64 %.979.us.1 to double
  %.984.us.1 = fdiv double %.948.us.1, %.980.us.1
  %.1031.us.1 = mul i64 %g.4.3523.us.1, %arg.sums.5.1
  %gep527.us.1 = getelementptr double, ptr %invariant.gep.us.1, i64 %.1031.us.1
  %.1036.us.1 = load double, ptr %gep527.us.1, align 8
  %.1066.us.1 = getelementptr i64, ptr %arg.sizes.4, i64 %g.4.3523.us.1
  %.1067.us.1 = load i64, ptr %.1066.us.1, align 8
  %.1070.us.1 = sitofp i64 %.1067.us.1 to double
  %.1074.us.1 = fdiv double %.1036.us.1, %.1070.us.1
  %.1075.us.1 = fcmp olt double %.984.us.1, %.1074.us.1
  br i1 %.1075.us.1, label %B368.us.1, label %B372.us.1
B368.us.1:
  br label %B372.us.1
B372.us.1:
  %g.5.5.us.1 = phi i64 [ %.855519521.us.1, %B368.us.1 ], [ %g.4.3523.us.1, %B288.us.1 ]
  %scevgep153 = getelementptr i8, ptr %lsr.iv152, i64 %54
  %exitcond597.1.not = icmp eq i64 %arg.groups, %.862.us.1
  br i1 %exitcond597.1.not, label %B374.us.1, label %B274.us.1
B374.us.1:
  %g.4.3.lcssa.us.1 = phi i64 [ %.714.us.1, %B256.endif.us.1 ], [ %g.5.5.us.1, %B372.us.1 ]
  %58 = icmp ult i64 %arg.count, 18
  %.279.i3 = icmp slt i64 %g.4.3.lcssa.us.1, 0
  %.280.i4 = select i1 %.279.i3, i64 %arg.sizes.5.0, i64 0
  %59 = getelementptr i64, ptr %arg.sizes.4, i64 %g.4.3.lcssa.us.1
  %.294.i5 = getelementptr i64, ptr %59, i64 %.280.i4
  %.295.i6 = load i64, ptr %.294.i5, align 8, !noalias !42
  %.296.i7 = add nsw i64 %.295.i6, 1
  store i64 %.296.i7, ptr %.294.i5, align 8, !noalias !42
  %.345.i8 = select i1 %.279.i3, i64 %arg.inner.5.0, i64 0
  %60 = getelementptr double, ptr %arg.inner.4, i64 %g.4.3.lcssa.us.1
  %.359.i9 = getelementptr double, ptr %60, i64 %.345.i8
  %.360.i10 = load double, ptr %.359.i9, align 8, !noalias !42
  %.386.i11 = select i1 %.279.i3, i64 %arg.sums.5.0, i64 0
  %.387.i12 = add i64 %.386.i11, %g.4.3.lcssa.us.1
  %.407.i13 = mul i64 %.387.i12, %arg.sums.5.1
  %61 = getelementptr double, ptr %arg.sums.4, i64 %.407.i13
  %62 = getelementptr double, ptr %61, i64 %.649529539.us.1
  %.412.i14 = load double, ptr %62, align 8, !noalias !42
  %.413.i15 = fadd double %.360.i10, %.412.i14
  store double %.413.i15, ptr %.359.i9, align 8, !noalias !42
  %sunkaddr272 = shl i64 %.649529539.us.1, 3
  %sunkaddr273 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr272
  store i64 %g.4.3.lcssa.us.1, ptr %sunkaddr273, align 8, !noalias !42
  br i1 %58, label %B336.preheader.i43, label %vector.memcheck.i20
vector.memcheck.i20:
  %.704.i18 = mul i64 %.649529539.us.1, %arg.gaps.5.1
  %63 = getelementptr double, ptr %arg.gaps.4, i64 %.704.i18
  %64 = add i64 %.407.i13, %arg.count
  %65 = shl i64 %64, 3
  %scevgep.i21 = getelementptr i8, ptr %arg.sums.4, i64 %65
  %66 = add i64 %.704.i18, %arg.count
  %67 = shl i64 %66, 3
  %scevgep1.i22 = getelementptr i8, ptr %arg.gaps.4, i64 %67
  %bound0.i23 = icmp ult ptr %61, %scevgep1.i22
  %bound1.i24 = icmp ult ptr %63, %scevgep.i21
  %found.conflict.i25 = and i1 %bound0.i23, %bound1.i24
  br i1 %found.conflict.i25, label %B336.preheader.i43, label %vector.ph.i26
vector.ph.i26:
  %68 = shl i64 %.407.i13, 3
  %69 = getelementptr i8, ptr %arg.sums.4, i64 %68
  %scevgep28.i29 = getelementptr i8, ptr %69, i64 16
  br label %vector.body.i30
vector.body.i30:
  %index.i31 = phi i64 [ 0, %vector.ph.i26 ], [ %index.next.i40, %vector.body.i30 ]
  %70 = shl i64 %index.i31, 3
  %scevgep30.i32 = getelementptr i8, ptr %scevgep28.i29, i64 %70
  %scevgep31.i33 = getelementptr i8, ptr %scevgep30.i32, i64 -16
  %wide.load.i34 = load <2 x double>, ptr %scevgep31.i33, align 8, !alias.scope !45, !noalias !48
  %wide.load2.i35 = load <2 x double>, ptr %scevgep30.i32, align 8, !alias.scope !45, !noalias !48
  %scevgep157 = getelementptr i8, ptr %lsr.iv155, i64 %70
  %71 = shl i64 %index.i31, 3
  %scevgep50 = getelementptr i8, ptr %lsr.iv155, i64 %71
  %scevgep51 = getelementptr i8, ptr %scevgep50, i64 -16
  %wide.load3.i38 = load <2 x double>, ptr %scevgep51, align 8, !alias.scope !50, !noalias !42
  %wide.load4.i39 = load <2 x double>, ptr %scevgep157, align 8, !alias.scope !50, !noalias !42
  %72 = fadd <2 x double> %wide.load.i34, %wide.load3.i38
  %73 = fadd <2 x double> %wide.load2.i35, %wide.load4.i39
  store <2 x double> %72, ptr %scevgep31.i33, align 8, !alias.scope !45, !noalias !48
  store <2 x double> %73, ptr %scevgep30.i32, align 8, !alias.scope !45, !noalias !48
  %index.next.i40 = add nuw nsw i64 %index.i31, 4
  %74 = icmp eq i64 %n.vec.i, %index.next.i40
  br i1 %74, label %middle.block.i41, label %vector.body.i30, !llvm.loop !39
middle.block.i41:
  %75 = icmp eq i64 %arg.count, %n.vec.i
  br i1 %75, label %B505.us.1, label %B336.preheader.i43
B336.preheader.i43:
  %.571374376.ph.i44 = phi i64 [ 0, %vector.memcheck.i20 ], [ 0, %B374.us.1 ], [ %n.vec.i, %middle.block.i41 ]
  %76 = icmp eq i64 %xtraiter.i, 0
  br i1 %76, label %B336.prol.loopexit.i58, label %B336.prol.i47.preheader
B336.prol.i47.preheader:
  br label %B336.prol.i47
B336.prol.i47:
  %lsr.iv.i48 = phi i64 [ %lsr.iv.next.i56, %B336.prol.i47 ], [ %xtraiter.i, %B336.prol.i47.preheader ]
  %.571374376.prol.i49 = phi i64 [ %.578.prol.i50, %B336.prol.i47 ], [ %.571374376.ph.i44, %B336.prol.i47.preheader ]
  %.578.prol.i50 = add nuw nsw i64 %.571374376.prol.i49, 1
  %77 = shl i64 %.571374376.prol.i49, 3
  %scevgep23.i51 = getelementptr i8, ptr %61, i64 %77
  %.657.prol.i52 = load double, ptr %scevgep23.i51, align 8, !noalias !42
  %scevgep162 = getelementptr i8, ptr %lsr.iv160, i64 %77
  %.709.prol.i54 = load double, ptr %scevgep162, align 8, !noalias !42
  %.710.prol.i55 = fadd double %.657.prol.i52, %.709.prol.i54
  store double %.710.prol.i55, ptr %scevgep23.i51, align 8, !noalias !42
  %lsr.iv.next.i56 = add nsw i64 %lsr.iv.i48, -1
  %prol.iter.cmp.not.i57 = icmp eq i64 %lsr.iv.next.i56, 0
  br i1 %prol.iter.cmp.not.i57, label %B336.prol.loopexit.i58, label %B336.prol.i47, !llvm.loop !40
B336.prol.loopexit.i58:
  %.571374376.unr.i59 = phi i64 [ %.571374376.ph.i44, %B336.preheader.i43 ], [ %.578.prol.i50, %B336.prol.i47 ]
  %78 = sub nsw i64 %.571374376.ph.i44, %arg.count
  %79 = icmp ugt i64 %78, -4
  br i1 %79, label %B505.us.1, label %B336.preheader5.i60
B336.preheader5.i60:
  %80 = shl i64 %.407.i13, 3
  %81 = getelementptr i8, ptr %arg.sums.4, i64 %80
  %scevgep14.i62 = getelementptr i8, ptr %81, i64 24
  br label %B336.i63
B336.i63:
  %.571374376.i64 = phi i64 [ %.578.3.i82, %B336.i63 ], [ %.571374376.unr.i59, %B336.preheader5.i60 ]
  %82 = shl i64 %.571374376.i64, 3
  %scevgep18.i65 = getelementptr i8, ptr %scevgep14.i62, i64 %82
  %scevgep19.i66 = getelementptr i8, ptr %scevgep18.i65, i64 -24
  %.657.i67 = load double, ptr %scevgep19.i66, align 8, !noalias !42
  %scevgep168 = getelementptr i8, ptr %lsr.iv160, i64 %82
  %scevgep169 = getelementptr i8, ptr %scevgep168, i64 24
  %.709.i70 = load double, ptr %scevgep168, align 8, !noalias !42
  %.710.i71 = fadd double %.657.i67, %.709.i70
  store double %.710.i71, ptr %scevgep19.i66, align 8, !noalias !42
  %83 = shl i64 %.571374376.i64, 3
  %scevgep54 = getelementptr i8, ptr %scevgep14.i62, i64 %83
  %scevgep55 = getelementptr i8, ptr %scevgep54, i64 -16
  %.657.1.i73 = load double, ptr %scevgep55, align 8, !noalias !42
  %scevgep58 = getelementptr i8, ptr %lsr.iv160, i64 %83
  %scevgep59 = getelementptr i8, ptr %scevgep58, i64 8
  %.709.1.i75 = load double, ptr %scevgep59, align 8, !noalias !42
  %.710.1.i76 = fadd double %.657.1.i73, %.709.1.i75
  store double %.710.1.i76, ptr %scevgep55, align 8, !noalias !42
  %84 = shl i64 %.571374376.i64, 3
  %scevgep52 = getelementptr i8, ptr %scevgep14.i62, i64 %84
  %scevgep53 = getelementptr i8, ptr %scevgep52, i64 -8
  %.657.2.i78 = load double, ptr %scevgep53, align 8, !noalias !42
  %scevgep56 = getelementptr i8, ptr %lsr.iv160, i64 %84
  %scevgep57 = getelementptr i8, ptr %scevgep56, i64 16
  %.709.2.i80 = load double, ptr %scevgep57, align 8, !noalias !42
  %.710.2.i81 = fadd double %.657.2.i78, %.709.2.i80
  store double %.710.2.i81, ptr %scevgep53, align 8, !noalias !42
  %.578.3.i82 = add nuw nsw i64 %.571374376.i64, 4
  %.657.3.i83 = load double, ptr %scevgep18.i65, align 8, !noalias !42
  %.709.3.i84 = load double, ptr %scevgep169, align 8, !noalias !42
  %.710.3.i85 = fadd double %.657.3.i83, %.709.3.i84
  store double %.710.3.i85, ptr %scevgep18.i65, align 8, !noalias !42
  %exitcond.not.3.i86 = icmp eq i64 %arg.count, %.578.3.i82
  br i1 %exitcond.not.3.i86, label %B505.us.1, label %B336.i63, !llvm.loop !41
B505.us.1:
  %scevgep151 = getelementptr i8, ptr %lsr.iv150, i64 8
  %scevgep156 = getelementptr i8, ptr %lsr.iv155, i64 %25
  %scevgep161 = getelementptr i8, ptr %lsr.iv160, i64 %25
  %exitcond598.1.not = icmp eq i64 %arg.count, %.656.us.1
  br i1 %exitcond598.1.not, label %B424.endif, label %B178.us.1
B424.endif:
  %85 = icmp slt i64 %arg.groups, 1
  br i1 %85, label %common.ret, label %B424.endif.B460.preheader_crit_edge
B424.endif.B460.preheader_crit_edge:
  %.pre = and i64 %arg.groups, 3
  br label %B460.preheader
B460.preheader:
  %xtraiter96.pre-phi = phi i64 [ %.pre, %B424.endif.B460.preheader_crit_edge ], [ %xtraiter94, %B36.endif.prol.loopexit ]
  %86 = icmp samesign ult i64 %arg.groups, 4
  br i1 %86, label %B460.epil.preheader, label %B460.preheader.new
B460.preheader.new:
  %xtraiter962 = phi i64 [ %xtraiter96.pre-phi, %B460.preheader ], [ %.pre6, %middle.block.B460.preheader.thread_crit_edge ], [ %xtraiter94, %B36.endif ]
  %unroll_iter100 = and i64 %arg.groups, -4
  br label %B460
}
define linkonce_odr noundef i32 @pramana.rework.3(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, ptr readnone captures(none) %arg.gaps.0, ptr readnone captures(none) %arg.gaps.1, i64 %arg.gaps.2, i64 %arg.gaps.3, ptr readonly captures(none) %arg.gaps.4, i64 %arg.gaps.5.0, i64 %arg.gaps.5.1, i64 %arg.gaps.6.0, i64 %arg.gaps.6.1, i64 %arg.count, i64 %arg.size, i64 %arg.first, ptr readnone captures(none) %arg.labels.0, ptr readnone captures(none) %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr captures(none) %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, ptr readnone captures(none) %arg.pull.0, ptr readnone captures(none) %arg.pull.1, i64 %arg.pull.2, i64 %arg.pull.3, ptr captures(none) %arg.pull.4, i64 %arg.pull.5.0, i64 %arg.pull.6.0) local_unnamed_addr #0 {
B0:
  %const = bitcast i64 9223372036854775804 to i64
  %.54 = icmp eq i64 %arg.size, 0
  br i1 %.54, label %B0.endif.endif, label %B0.else, !prof !11
B450:
  %quot.0621625 = phi i64 [ %quot.0, %B92.endif.lr.ph.split ], [ %quot.0, %B92.endif.us.us.preheader ], [ 0, %B0.else ], [ %quot.0, %B60.endif ], [ %quot.0, %B126.us573.prol.loopexit.loopexit.us.us.1 ], [ %quot.0, %B124.B158.endif_crit_edge.us587.loopexit.us ], [ %quot.0, %B124.B158.endif_crit_edge.us587 ], [ %quot.0, %B92.endif.us564.us14.prol.loopexit ], [ %quot.0, %B92.endif.us564.preheader.split.us.split.us ], [ %quot.0, %B92.endif.us564.us.us.prol.loopexit ], [ %quot.0, %middle.block66.us.1 ], [ %quot.0, %B124.B158.endif_crit_edge.us587.loopexit.us.us ], [ %quot.0, %B188.B90.loopexit_crit_edge.us.split ]
  store i64 %quot.0621625, ptr %retptr, align 8
  ret i32 0
B0.else:
  %const_mat213 = add i64 %const, 4
  %.65 = icmp ne i64 %arg.count, %const_mat213
  %.66 = icmp ne i64 %arg.size, -1
  %.67.not = or i1 %.65, %.66
  br i1 %.67.not, label %B0.else.if, label %B450, !prof !10
B0.else.if:
  %0 = or i64 %arg.size, %arg.count
  %1 = icmp ult i64 %0, 4294967296
  br i1 %1, label %2, label %9
2:
  %3 = trunc nuw i64 %arg.size to i32
  %4 = trunc nuw i64 %arg.count to i32
  %5 = udiv i32 %4, %3
  %6 = urem i32 %4, %3
  %7 = zext i32 %5 to i64
  %8 = zext i32 %6 to i64
  br label %23
9:
  %10 = or i64 %arg.count, %arg.size
  %11 = and i64 %10, -4294967296
  %12 = icmp eq i64 %11, 0
  br i1 %12, label %13, label %20
13:
  %14 = trunc i64 %arg.size to i32
  %15 = trunc i64 %arg.count to i32
  %16 = udiv i32 %15, %14
  %17 = urem i32 %15, %14
  %18 = zext i32 %16 to i64
  %19 = zext i32 %17 to i64
  br label %23
20:
  %21 = sdiv i64 %arg.count, %arg.size
  %22 = srem i64 %arg.count, %arg.size
  br label %23
23:
  %24 = phi i64 [ %7, %2 ], [ %18, %13 ], [ %21, %20 ]
  %25 = phi i64 [ %8, %2 ], [ %19, %13 ], [ %22, %20 ]
  %.72 = xor i64 %25, %arg.size
  %.73 = icmp slt i64 %.72, 0
  %.74 = icmp ne i64 %25, 0
  %.75 = and i1 %.74, %.73
  %.80 = sext i1 %.75 to i64
  %spec.select444 = add i64 %24, %.80
  br label %B0.endif.endif
B0.endif.endif:
  %quot.0 = phi i64 [ 0, %B0 ], [ %spec.select444, %23 ]
  %.133 = icmp sgt i64 %arg.count, 0
  br i1 %.133, label %B46.preheader, label %B60.endif
B46.preheader:
  %26 = shl nuw i64 %arg.count, 3
  tail call void @llvm.memset.p0.i64(ptr align 8 %arg.labels.4, i8 -1, i64 %26, i1 false)
  br label %B60.endif
B60.endif:
  %.quot.0 = tail call i64 @llvm.smax.i64(i64 %quot.0, i64 0)
  %.336519.not = icmp slt i64 %quot.0, 1
  br i1 %.336519.not, label %B450, label %B92.endif.lr.ph
B92.endif.lr.ph:
  %.668494.not = icmp slt i64 %arg.size, 1
  br i1 %.668494.not, label %B92.endif.lr.ph.split, label %B92.endif.us.preheader
B92.endif.us.preheader:
  %27 = icmp slt i64 %arg.count, 1
  br i1 %27, label %B92.endif.us.us.preheader, label %B92.endif.us.preheader12
B92.endif.us.preheader12:
  %28 = shl i64 %arg.gaps.5.1, 3
  %29 = shl i64 %arg.count, 3
  %scevgep = getelementptr i8, ptr %arg.pull.4, i64 %29
  %scevgep18 = getelementptr i8, ptr %arg.gaps.4, i64 %29
  %30 = add nsw i64 %arg.count, -1
  %n.vec43 = and i64 %arg.count, %const
  %xtraiter = and i64 %arg.count, 3
  %const_mat = add i64 %const, 2
  %unroll_iter = and i64 %arg.count, %const_mat
  %scevgep122 = getelementptr i8, ptr %arg.gaps.4, i64 16
  %scevgep139 = getelementptr i8, ptr %arg.gaps.4, i64 24
  br label %B92.endif.us
B92.endif.us.us.preheader:
  %31 = getelementptr i8, ptr %arg.labels.4, i64 -8
  %.1015.us629 = getelementptr i64, ptr %31, i64 %arg.labels.5.0
  %32 = add nsw i64 %quot.0, -1
  store i64 %32, ptr %.1015.us629, align 8
  br label %B450
B92.endif.us:
  %first.2.0526.us = phi i64 [ %spec.select.us632, %B188.B90.loopexit_crit_edge.us.split ], [ %arg.first, %B92.endif.us.preheader12 ]
  %.342506524.us = phi i64 [ %.349.us, %B188.B90.loopexit_crit_edge.us.split ], [ 0, %B92.endif.us.preheader12 ]
  %33 = icmp ult i64 %arg.count, 4
  %.518.us = icmp slt i64 %first.2.0526.us, 0
  %.519.us = select i1 %.518.us, i64 %arg.gaps.5.0, i64 0
  %.520.us = add i64 %.519.us, %first.2.0526.us
  %.540.us = mul i64 %.520.us, %arg.gaps.5.1
  %34 = getelementptr double, ptr %arg.gaps.4, i64 %.540.us
  br i1 %33, label %B126.us.preheader, label %vector.memcheck35
vector.memcheck35:
  %35 = ptrtoint ptr %arg.gaps.4 to i64
  %36 = ptrtoint ptr %arg.pull.4 to i64
  %37 = mul i64 %.520.us, %28
  %38 = add i64 %37, %35
  %39 = sub i64 %36, %38
  %diff.check38 = icmp ult i64 %39, 32
  br i1 %diff.check38, label %B126.us.preheader, label %vector.body44.preheader
vector.body44.preheader:
  %scevgep123 = getelementptr i8, ptr %scevgep122, i64 %37
  br label %vector.body44
vector.body44:
  %index45 = phi i64 [ %index.next48, %vector.body44 ], [ 0, %vector.body44.preheader ]
  %40 = shl i64 %index45, 3
  %scevgep125 = getelementptr i8, ptr %scevgep123, i64 %40
  %scevgep126 = getelementptr i8, ptr %scevgep125, i64 -16
  %wide.load46 = load <2 x double>, ptr %scevgep126, align 8
  %wide.load47 = load <2 x double>, ptr %scevgep125, align 8
  %41 = fneg <2 x double> %wide.load46
  %42 = fneg <2 x double> %wide.load47
  %sunkaddr = mul i64 %index45, 8
  %sunkaddr215 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr
  store <2 x double> %41, ptr %sunkaddr215, align 8
  %sunkaddr216 = mul i64 %index45, 8
  %sunkaddr217 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr216
  %sunkaddr218 = getelementptr i8, ptr %sunkaddr217, i64 16
  store <2 x double> %42, ptr %sunkaddr218, align 8
  %index.next48 = add nuw nsw i64 %index45, 4
  %43 = icmp eq i64 %n.vec43, %index.next48
  br i1 %43, label %middle.block49, label %vector.body44, !llvm.loop !51
middle.block49:
  %44 = icmp eq i64 %arg.count, %n.vec43
  br i1 %44, label %B190.endif.us.preheader, label %B126.us.preheader
B126.us.preheader:
  %.463460462.us.ph = phi i64 [ 0, %vector.memcheck35 ], [ 0, %B92.endif.us ], [ %n.vec43, %middle.block49 ]
  %45 = icmp eq i64 %xtraiter, 0
  %46 = sub i64 %30, %.463460462.us.ph
  br i1 %45, label %B126.us.prol.loopexit, label %B126.us.prol.preheader
B126.us.prol.preheader:
  br label %B126.us.prol
B126.us.prol:
  %lsr.iv129 = phi i64 [ %lsr.iv.next130, %B126.us.prol ], [ %xtraiter, %B126.us.prol.preheader ]
  %.463460462.us.prol = phi i64 [ %.470.us.prol, %B126.us.prol ], [ %.463460462.us.ph, %B126.us.prol.preheader ]
  %.470.us.prol = add nuw nsw i64 %.463460462.us.prol, 1
  %47 = shl i64 %.463460462.us.prol, 3
  %scevgep128 = getelementptr i8, ptr %34, i64 %47
  %.545.us.prol = load double, ptr %scevgep128, align 8
  %.546.us.prol = fneg double %.545.us.prol
  %scevgep127 = getelementptr i8, ptr %arg.pull.4, i64 %47
  store double %.546.us.prol, ptr %scevgep127, align 8
  %lsr.iv.next130 = add nsw i64 %lsr.iv129, -1
  %prol.iter.cmp.not = icmp eq i64 %lsr.iv.next130, 0
  br i1 %prol.iter.cmp.not, label %B126.us.prol.loopexit, label %B126.us.prol, !llvm.loop !52
B126.us.prol.loopexit:
  %.463460462.us.unr = phi i64 [ %.463460462.us.ph, %B126.us.preheader ], [ %.470.us.prol, %B126.us.prol ]
  %48 = icmp ult i64 %46, 3
  br i1 %48, label %B190.endif.us.preheader, label %B126.us.preheader90
B126.us.preheader90:
  %49 = mul i64 %.520.us, %28
  %scevgep140 = getelementptr i8, ptr %scevgep139, i64 %49
  br label %B126.us
B190.endif.us:
  %first.3.1497.us = phi i64 [ %spec.select.us632, %B188.loopexit.us ], [ %first.2.0526.us, %B190.endif.us.preheader ]
  %.674485495.us = phi i64 [ %.681.us, %B188.loopexit.us ], [ 0, %B190.endif.us.preheader ]
  %50 = icmp eq i64 %30, 0
  br i1 %50, label %B252.us.epil.preheader, label %B252.us.preheader
B252.us.preheader:
  br label %B252.us
B382.us537:
  %.1110477479.us539 = phi i64 [ %.1117.us541.3, %B382.us537 ], [ %.1110477479.us539.unr, %B382.us537.preheader87 ]
  %51 = shl i64 %.1110477479.us539, 3
  %scevgep210 = getelementptr i8, ptr %scevgep206, i64 %51
  %scevgep211 = getelementptr i8, ptr %scevgep210, i64 -24
  %.1196.us545 = load double, ptr %scevgep211, align 8
  %.1243.us546 = fadd double %.1196.us545, 0.000000e+00
  %sunkaddr219 = mul i64 %.1110477479.us539, 8
  %sunkaddr220 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr219
  store double %.1243.us546, ptr %sunkaddr220, align 8
  %52 = shl i64 %.1110477479.us539, 3
  %scevgep208 = getelementptr i8, ptr %scevgep206, i64 %52
  %scevgep212 = getelementptr i8, ptr %scevgep208, i64 -16
  %.1196.us545.1 = load double, ptr %scevgep212, align 8
  %.1243.us546.1 = fadd double %.1196.us545.1, 0.000000e+00
  %53 = shl i64 %.1110477479.us539, 3
  %sunkaddr221 = mul i64 %.1110477479.us539, 8
  %sunkaddr222 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr221
  %sunkaddr223 = getelementptr i8, ptr %sunkaddr222, i64 8
  store double %.1243.us546.1, ptr %sunkaddr223, align 8
  %scevgep205 = getelementptr i8, ptr %scevgep206, i64 %53
  %scevgep207 = getelementptr i8, ptr %scevgep205, i64 -8
  %.1196.us545.2 = load double, ptr %scevgep207, align 8
  %.1243.us546.2 = fadd double %.1196.us545.2, 0.000000e+00
  %sunkaddr224 = mul i64 %.1110477479.us539, 8
  %sunkaddr225 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr224
  %sunkaddr226 = getelementptr i8, ptr %sunkaddr225, i64 16
  store double %.1243.us546.2, ptr %sunkaddr226, align 8
  %.1117.us541.3 = add nuw nsw i64 %.1110477479.us539, 4
  %.1196.us545.3 = load double, ptr %scevgep210, align 8
  %.1243.us546.3 = fadd double %.1196.us545.3, 0.000000e+00
  %sunkaddr227 = mul i64 %.1110477479.us539, 8
  %sunkaddr228 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr227
  %sunkaddr229 = getelementptr i8, ptr %sunkaddr228, i64 24
  store double %.1243.us546.3, ptr %sunkaddr229, align 8
  %exitcond614.not.3 = icmp eq i64 %arg.count, %.1117.us541.3
  br i1 %exitcond614.not.3, label %B188.loopexit.us, label %B382.us537, !llvm.loop !53
B252.us:
  %best.2.2472.us = phi double [ %best.3.3.us.1, %B322.us.1 ], [ 0x7FF0000000000000, %B252.us.preheader ]
  %at.2.2471.us = phi i64 [ %at.3.3.us.1, %B322.us.1 ], [ -1, %B252.us.preheader ]
  %.801467469.us = phi i64 [ %.808.us.1, %B322.us.1 ], [ 0, %B252.us.preheader ]
  %54 = add i64 %.801467469.us, 1
  %sunkaddr230 = mul i64 %.801467469.us, 8
  %sunkaddr232 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr230
  %.874.us = load i64, ptr %sunkaddr232, align 8
  %.875.us = icmp slt i64 %.874.us, 0
  br i1 %.875.us, label %B278.us, label %B322.us
B278.us:
  %sunkaddr233 = mul i64 %.801467469.us, 8
  %sunkaddr234 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr233
  %.915.us = load double, ptr %sunkaddr234, align 8
  %.917.us = fcmp olt double %.915.us, %best.2.2472.us
  br i1 %.917.us, label %B302.us, label %B322.us
B302.us:
  br label %B322.us
B322.us:
  %at.3.3.us = phi i64 [ %.801467469.us, %B302.us ], [ %at.2.2471.us, %B278.us ], [ %at.2.2471.us, %B252.us ]
  %best.3.3.us = phi double [ %.915.us, %B302.us ], [ %best.2.2472.us, %B278.us ], [ %best.2.2472.us, %B252.us ]
  %.808.us.1 = add nuw i64 %.801467469.us, 2
  %sunkaddr235 = mul i64 %.801467469.us, 8
  %sunkaddr236 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr235
  %sunkaddr237 = getelementptr i8, ptr %sunkaddr236, i64 8
  %.874.us.1 = load i64, ptr %sunkaddr237, align 8
  %.875.us.1 = icmp slt i64 %.874.us.1, 0
  br i1 %.875.us.1, label %B278.us.1, label %B322.us.1
B278.us.1:
  %sunkaddr238 = mul i64 %.801467469.us, 8
  %sunkaddr239 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr238
  %sunkaddr240 = getelementptr i8, ptr %sunkaddr239, i64 8
  %.915.us.1 = load double, ptr %sunkaddr240, align 8
  %.917.us.1 = fcmp olt double %.915.us.1, %best.3.3.us
  br i1 %.917.us.1, label %B302.us.1, label %B322.us.1
B302.us.1:
  br label %B322.us.1
B322.us.1:
  %at.3.3.us.1 = phi i64 [ %54, %B302.us.1 ], [ %at.3.3.us, %B278.us.1 ], [ %at.3.3.us, %B322.us ]
  %best.3.3.us.1 = phi double [ %.915.us.1, %B302.us.1 ], [ %best.3.3.us, %B278.us.1 ], [ %best.3.3.us, %B322.us ]
  %niter.ncmp.1 = icmp eq i64 %unroll_iter, %.808.us.1
  br i1 %niter.ncmp.1, label %B382.lr.ph.us.unr-lcssa, label %B252.us
B126.us:
  %.463460462.us = phi i64 [ %.470.us.3, %B126.us ], [ %.463460462.us.unr, %B126.us.preheader90 ]
  %55 = shl i64 %.463460462.us, 3
  %scevgep144 = getelementptr i8, ptr %scevgep140, i64 %55
  %scevgep145 = getelementptr i8, ptr %scevgep144, i64 -24
  %.545.us = load double, ptr %scevgep145, align 8
  %.546.us = fneg double %.545.us
  %sunkaddr241 = mul i64 %.463460462.us, 8
  %sunkaddr242 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr241
  store double %.546.us, ptr %sunkaddr242, align 8
  %56 = shl i64 %.463460462.us, 3
  %scevgep156 = getelementptr i8, ptr %scevgep140, i64 %56
  %scevgep157 = getelementptr i8, ptr %scevgep156, i64 -16
  %.545.us.1 = load double, ptr %scevgep157, align 8
  %.546.us.1 = fneg double %.545.us.1
  %57 = shl i64 %.463460462.us, 3
  %sunkaddr243 = mul i64 %.463460462.us, 8
  %sunkaddr244 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr243
  %sunkaddr245 = getelementptr i8, ptr %sunkaddr244, i64 8
  store double %.546.us.1, ptr %sunkaddr245, align 8
  %scevgep154 = getelementptr i8, ptr %scevgep140, i64 %57
  %scevgep155 = getelementptr i8, ptr %scevgep154, i64 -8
  %.545.us.2 = load double, ptr %scevgep155, align 8
  %.546.us.2 = fneg double %.545.us.2
  %sunkaddr246 = mul i64 %.463460462.us, 8
  %sunkaddr247 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr246
  %sunkaddr248 = getelementptr i8, ptr %sunkaddr247, i64 16
  store double %.546.us.2, ptr %sunkaddr248, align 8
  %.470.us.3 = add nuw nsw i64 %.463460462.us, 4
  %.545.us.3 = load double, ptr %scevgep144, align 8
  %.546.us.3 = fneg double %.545.us.3
  %sunkaddr249 = mul i64 %.463460462.us, 8
  %sunkaddr250 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr249
  %sunkaddr251 = getelementptr i8, ptr %sunkaddr250, i64 24
  store double %.546.us.3, ptr %sunkaddr251, align 8
  %exitcond612.not.3 = icmp eq i64 %arg.count, %.470.us.3
  br i1 %exitcond612.not.3, label %B190.endif.us.preheader, label %B126.us, !llvm.loop !54
B190.endif.us.preheader:
  br label %B190.endif.us
B188.loopexit.us:
  %spec.select.us632 = phi i64 [ %at.3.3.us.lcssa, %B382.us537 ], [ %first.3.1497.us, %middle.block32 ], [ %first.3.1497.us, %B382.us.us ], [ %first.3.1497.us, %B382.us.us.prol.loopexit ], [ %at.3.3.us.lcssa, %middle.block ], [ %at.3.3.us.lcssa, %B382.us537.prol.loopexit ]
  %exitcond616.not = icmp eq i64 %arg.size, %.681.us
  br i1 %exitcond616.not, label %B188.B90.loopexit_crit_edge.us.split, label %B190.endif.us
B382.lr.ph.us.unr-lcssa:
  %58 = and i64 %arg.count, 1
  %59 = icmp eq i64 %58, 0
  br i1 %59, label %B382.lr.ph.us, label %B252.us.epil.preheader
B252.us.epil.preheader:
  %best.2.2472.us.epil.init = phi double [ 0x7FF0000000000000, %B190.endif.us ], [ %best.3.3.us.1, %B382.lr.ph.us.unr-lcssa ]
  %at.2.2471.us.epil.init = phi i64 [ -1, %B190.endif.us ], [ %at.3.3.us.1, %B382.lr.ph.us.unr-lcssa ]
  %sunkaddr252 = mul i64 %unroll_iter, 8
  %sunkaddr253 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr252
  %.874.us.epil = load i64, ptr %sunkaddr253, align 8
  %.875.us.epil = icmp slt i64 %.874.us.epil, 0
  br i1 %.875.us.epil, label %B278.us.epil, label %B382.lr.ph.us
B278.us.epil:
  %sunkaddr254 = mul i64 %unroll_iter, 8
  %sunkaddr255 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr254
  %.915.us.epil = load double, ptr %sunkaddr255, align 8
  %.917.us.epil = fcmp olt double %.915.us.epil, %best.2.2472.us.epil.init
  br i1 %.917.us.epil, label %B302.us.epil, label %B382.lr.ph.us
B302.us.epil:
  br label %B382.lr.ph.us
B382.lr.ph.us:
  %at.3.3.us.lcssa = phi i64 [ %at.3.3.us.1, %B382.lr.ph.us.unr-lcssa ], [ %unroll_iter, %B302.us.epil ], [ %at.2.2471.us.epil.init, %B278.us.epil ], [ %at.2.2471.us.epil.init, %B252.us.epil.preheader ]
  %.681.us = add nuw nsw i64 %.674485495.us, 1
  %.1000.us = icmp slt i64 %at.3.3.us.lcssa, 0
  %.1001.us = select i1 %.1000.us, i64 %arg.labels.5.0, i64 0
  %60 = getelementptr i64, ptr %arg.labels.4, i64 %at.3.3.us.lcssa
  %.1015.us = getelementptr i64, ptr %60, i64 %.1001.us
  store i64 %.342506524.us, ptr %.1015.us, align 8
  %.1018.us = icmp eq i64 %.674485495.us, 0
  %.1170.us = select i1 %.1000.us, i64 %arg.gaps.5.0, i64 0
  %.1171.us = add i64 %.1170.us, %at.3.3.us.lcssa
  %.1191.us = mul i64 %.1171.us, %arg.gaps.5.1
  %61 = getelementptr double, ptr %arg.gaps.4, i64 %.1191.us
  br i1 %.1018.us, label %B382.us537.preheader, label %B382.us.us.preheader
B382.us.us.preheader:
  %62 = icmp ult i64 %arg.count, 4
  br i1 %62, label %B382.us.us.preheader70, label %vector.memcheck17
vector.memcheck17:
  %63 = mul i64 %.1171.us, %28
  %scevgep19 = getelementptr i8, ptr %scevgep18, i64 %63
  %bound0 = icmp ult ptr %arg.pull.4, %scevgep19
  %bound1 = icmp ult ptr %61, %scevgep
  %found.conflict = and i1 %bound0, %bound1
  br i1 %found.conflict, label %B382.us.us.preheader70, label %vector.body25.preheader
vector.body25.preheader:
  %scevgep161 = getelementptr i8, ptr %scevgep122, i64 %63
  br label %vector.body25
vector.body25:
  %index26 = phi i64 [ %index.next31, %vector.body25 ], [ 0, %vector.body25.preheader ]
  %64 = shl i64 %index26, 3
  %scevgep163 = getelementptr i8, ptr %scevgep161, i64 %64
  %scevgep164 = getelementptr i8, ptr %scevgep163, i64 -16
  %wide.load27 = load <2 x double>, ptr %scevgep164, align 8, !alias.scope !55
  %wide.load28 = load <2 x double>, ptr %scevgep163, align 8, !alias.scope !55
  %sunkaddr256 = mul i64 %index26, 8
  %sunkaddr257 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr256
  %wide.load29 = load <2 x double>, ptr %sunkaddr257, align 8, !alias.scope !58, !noalias !55
  %sunkaddr258 = mul i64 %index26, 8
  %sunkaddr259 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr258
  %sunkaddr260 = getelementptr i8, ptr %sunkaddr259, i64 16
  %wide.load30 = load <2 x double>, ptr %sunkaddr260, align 8, !alias.scope !58, !noalias !55
  %65 = fadd <2 x double> %wide.load27, %wide.load29
  %66 = fadd <2 x double> %wide.load28, %wide.load30
  store <2 x double> %65, ptr %sunkaddr257, align 8, !alias.scope !58, !noalias !55
  store <2 x double> %66, ptr %sunkaddr260, align 8, !alias.scope !58, !noalias !55
  %index.next31 = add nuw nsw i64 %index26, 4
  %67 = icmp eq i64 %n.vec43, %index.next31
  br i1 %67, label %middle.block32, label %vector.body25, !llvm.loop !60
middle.block32:
  %68 = icmp eq i64 %arg.count, %n.vec43
  br i1 %68, label %B188.loopexit.us, label %B382.us.us.preheader70
B382.us.us.preheader70:
  %.1110477479.us.us.ph = phi i64 [ 0, %vector.memcheck17 ], [ 0, %B382.us.us.preheader ], [ %n.vec43, %middle.block32 ]
  %69 = icmp eq i64 %xtraiter, 0
  br i1 %69, label %B382.us.us.prol.loopexit, label %B382.us.us.prol.preheader
B382.us.us.prol.preheader:
  br label %B382.us.us.prol
B382.us.us.prol:
  %lsr.iv167 = phi i64 [ %lsr.iv.next168, %B382.us.us.prol ], [ %xtraiter, %B382.us.us.prol.preheader ]
  %.1110477479.us.us.prol = phi i64 [ %.1117.us.us.prol, %B382.us.us.prol ], [ %.1110477479.us.us.ph, %B382.us.us.prol.preheader ]
  %.1117.us.us.prol = add nuw nsw i64 %.1110477479.us.us.prol, 1
  %70 = shl i64 %.1110477479.us.us.prol, 3
  %scevgep166 = getelementptr i8, ptr %61, i64 %70
  %.1196.us.us.prol = load double, ptr %scevgep166, align 8
  %scevgep165 = getelementptr i8, ptr %arg.pull.4, i64 %70
  %.1233.us.us.prol = load double, ptr %scevgep165, align 8
  %.1243.us.us.prol = fadd double %.1196.us.us.prol, %.1233.us.us.prol
  store double %.1243.us.us.prol, ptr %scevgep165, align 8
  %lsr.iv.next168 = add nsw i64 %lsr.iv167, -1
  %prol.iter79.cmp.not = icmp eq i64 %lsr.iv.next168, 0
  br i1 %prol.iter79.cmp.not, label %B382.us.us.prol.loopexit, label %B382.us.us.prol, !llvm.loop !61
B382.us.us.prol.loopexit:
  %.1110477479.us.us.unr = phi i64 [ %.1110477479.us.us.ph, %B382.us.us.preheader70 ], [ %.1117.us.us.prol, %B382.us.us.prol ]
  %71 = sub nsw i64 %.1110477479.us.us.ph, %arg.count
  %72 = icmp ugt i64 %71, -4
  br i1 %72, label %B188.loopexit.us, label %B382.us.us.preheader88
B382.us.us.preheader88:
  %73 = mul i64 %.1171.us, %28
  %scevgep178 = getelementptr i8, ptr %scevgep139, i64 %73
  br label %B382.us.us
B382.us537.preheader:
  %74 = icmp ult i64 %arg.count, 4
  br i1 %74, label %B382.us537.preheader69, label %vector.memcheck
vector.memcheck:
  %75 = ptrtoint ptr %arg.gaps.4 to i64
  %76 = ptrtoint ptr %arg.pull.4 to i64
  %77 = mul i64 %.1171.us, %28
  %78 = add i64 %77, %75
  %79 = sub i64 %76, %78
  %diff.check = icmp ult i64 %79, 32
  br i1 %diff.check, label %B382.us537.preheader69, label %vector.body.preheader
vector.body.preheader:
  %scevgep190 = getelementptr i8, ptr %scevgep122, i64 %77
  br label %vector.body
vector.body:
  %index = phi i64 [ %index.next, %vector.body ], [ 0, %vector.body.preheader ]
  %80 = shl i64 %index, 3
  %scevgep192 = getelementptr i8, ptr %scevgep190, i64 %80
  %scevgep193 = getelementptr i8, ptr %scevgep192, i64 -16
  %wide.load = load <2 x double>, ptr %scevgep193, align 8
  %wide.load16 = load <2 x double>, ptr %scevgep192, align 8
  %81 = fadd <2 x double> %wide.load, zeroinitializer
  %82 = fadd <2 x double> %wide.load16, zeroinitializer
  %sunkaddr261 = mul i64 %index, 8
  %sunkaddr262 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr261
  store <2 x double> %81, ptr %sunkaddr262, align 8
  %sunkaddr263 = mul i64 %index, 8
  %sunkaddr264 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr263
  %sunkaddr265 = getelementptr i8, ptr %sunkaddr264, i64 16
  store <2 x double> %82, ptr %sunkaddr265, align 8
  %index.next = add nuw nsw i64 %index, 4
  %83 = icmp eq i64 %n.vec43, %index.next
  br i1 %83, label %middle.block, label %vector.body, !llvm.loop !62
middle.block:
  %84 = icmp eq i64 %arg.count, %n.vec43
  br i1 %84, label %B188.loopexit.us, label %B382.us537.preheader69
B382.us537.preheader69:
  %.1110477479.us539.ph = phi i64 [ 0, %vector.memcheck ], [ 0, %B382.us537.preheader ], [ %n.vec43, %middle.block ]
  %85 = icmp eq i64 %xtraiter, 0
  br i1 %85, label %B382.us537.prol.loopexit, label %B382.us537.prol.preheader
B382.us537.prol.preheader:
  br label %B382.us537.prol
B382.us537.prol:
  %lsr.iv196 = phi i64 [ %lsr.iv.next197, %B382.us537.prol ], [ %xtraiter, %B382.us537.prol.preheader ]
  %.1110477479.us539.prol = phi i64 [ %.1117.us541.prol, %B382.us537.prol ], [ %.1110477479.us539.ph, %B382.us537.prol.preheader ]
  %.1117.us541.prol = add nuw nsw i64 %.1110477479.us539.prol, 1
  %86 = shl i64 %.1110477479.us539.prol, 3
  %scevgep195 = getelementptr i8, ptr %61, i64 %86
  %.1196.us545.prol = load double, ptr %scevgep195, align 8
  %.1243.us546.prol = fadd double %.1196.us545.prol, 0.000000e+00
  %scevgep194 = getelementptr i8, ptr %arg.pull.4, i64 %86
  store double %.1243.us546.prol, ptr %scevgep194, align 8
  %lsr.iv.next197 = add nsw i64 %lsr.iv196, -1
  %prol.iter82.cmp.not = icmp eq i64 %lsr.iv.next197, 0
  br i1 %prol.iter82.cmp.not, label %B382.us537.prol.loopexit, label %B382.us537.prol, !llvm.loop !63
B382.us537.prol.loopexit:
  %.1110477479.us539.unr = phi i64 [ %.1110477479.us539.ph, %B382.us537.preheader69 ], [ %.1117.us541.prol, %B382.us537.prol ]
  %87 = sub nsw i64 %.1110477479.us539.ph, %arg.count
  %88 = icmp ugt i64 %87, -4
  br i1 %88, label %B188.loopexit.us, label %B382.us537.preheader87
B382.us537.preheader87:
  %89 = mul i64 %.1171.us, %28
  %scevgep206 = getelementptr i8, ptr %scevgep139, i64 %89
  br label %B382.us537
B382.us.us:
  %.1110477479.us.us = phi i64 [ %.1117.us.us.3, %B382.us.us ], [ %.1110477479.us.us.unr, %B382.us.us.preheader88 ]
  %90 = shl i64 %.1110477479.us.us, 3
  %scevgep182 = getelementptr i8, ptr %scevgep178, i64 %90
  %scevgep183 = getelementptr i8, ptr %scevgep182, i64 -24
  %.1196.us.us = load double, ptr %scevgep183, align 8
  %sunkaddr266 = mul i64 %.1110477479.us.us, 8
  %sunkaddr267 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr266
  %.1233.us.us = load double, ptr %sunkaddr267, align 8
  %.1243.us.us = fadd double %.1196.us.us, %.1233.us.us
  store double %.1243.us.us, ptr %sunkaddr267, align 8
  %91 = shl i64 %.1110477479.us.us, 3
  %scevgep188 = getelementptr i8, ptr %scevgep178, i64 %91
  %scevgep189 = getelementptr i8, ptr %scevgep188, i64 -16
  %.1196.us.us.1 = load double, ptr %scevgep189, align 8
  %sunkaddr268 = mul i64 %.1110477479.us.us, 8
  %sunkaddr269 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr268
  %sunkaddr270 = getelementptr i8, ptr %sunkaddr269, i64 8
  %.1233.us.us.1 = load double, ptr %sunkaddr270, align 8
  %.1243.us.us.1 = fadd double %.1196.us.us.1, %.1233.us.us.1
  store double %.1243.us.us.1, ptr %sunkaddr270, align 8
  %92 = shl i64 %.1110477479.us.us, 3
  %scevgep186 = getelementptr i8, ptr %scevgep178, i64 %92
  %scevgep187 = getelementptr i8, ptr %scevgep186, i64 -8
  %.1196.us.us.2 = load double, ptr %scevgep187, align 8
  %sunkaddr271 = mul i64 %.1110477479.us.us, 8
  %sunkaddr272 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr271
  %sunkaddr273 = getelementptr i8, ptr %sunkaddr272, i64 16
  %.1233.us.us.2 = load double, ptr %sunkaddr273, align 8
  %.1243.us.us.2 = fadd double %.1196.us.us.2, %.1233.us.us.2
  store double %.1243.us.us.2, ptr %sunkaddr273, align 8
  %.1117.us.us.3 = add nuw nsw i64 %.1110477479.us.us, 4
  %.1196.us.us.3 = load double, ptr %scevgep182, align 8
  %sunkaddr274 = mul i64 %.1110477479.us.us, 8
  %sunkaddr275 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr274
  %sunkaddr276 = getelementptr i8, ptr %sunkaddr275, i64 24
  %.1233.us.us.3 = load double, ptr %sunkaddr276, align 8
  %.1243.us.us.3 = fadd double %.1196.us.us.3, %.1233.us.us.3
  store double %.1243.us.us.3, ptr %sunkaddr276, align 8
  %exitcond615.not.3 = icmp eq i64 %arg.count, %.1117.us.us.3
  br i1 %exitcond615.not.3, label %B188.loopexit.us, label %B382.us.us, !llvm.loop !64
B188.B90.loopexit_crit_edge.us.split:
  %.349.us = add nuw nsw i64 %.342506524.us, 1
  %exitcond617.not = icmp eq i64 %quot.0, %.349.us
  br i1 %exitcond617.not, label %B450, label %B92.endif.us
B92.endif.lr.ph.split:
  %93 = icmp slt i64 %arg.count, 1
  %.518 = icmp slt i64 %arg.first, 0
  %.519 = select i1 %.518, i64 %arg.gaps.5.0, i64 0
  %.520 = add i64 %.519, %arg.first
  %.540 = mul i64 %.520, %arg.gaps.5.1
  %94 = getelementptr double, ptr %arg.gaps.4, i64 %.540
  br i1 %93, label %B450, label %B92.endif.us564.preheader
B92.endif.us564.preheader:
  %95 = ptrtoint ptr %arg.pull.4 to i64
  %96 = ptrtoint ptr %arg.gaps.4 to i64
  %97 = shl i64 %.540, 3
  %98 = add i64 %97, %96
  %99 = sub i64 %95, %98
  %min.iters.check57 = icmp samesign ult i64 %arg.count, 4
  %diff.check55 = icmp ult i64 %99, 32
  %or.cond = select i1 %min.iters.check57, i1 true, i1 %diff.check55
  %n.vec60 = and i64 %arg.count, %const
  %xtraiter83 = and i64 %arg.count, 3
  %100 = getelementptr i8, ptr %arg.gaps.4, i64 %97
  %scevgep96 = getelementptr i8, ptr %100, i64 16
  %scevgep110 = getelementptr i8, ptr %100, i64 24
  br i1 %or.cond, label %B92.endif.us564.preheader.split.us, label %B92.endif.us564.preheader.split
B92.endif.us564.preheader.split.us:
  %101 = icmp samesign ult i64 %arg.count, 4
  br i1 %101, label %B92.endif.us564.preheader.split.us.split.us, label %B92.endif.us564.preheader.split.us.split
B92.endif.us564.preheader.split.us.split.us:
  %102 = icmp eq i64 %xtraiter83, 0
  br i1 %102, label %B450, label %B92.endif.us564.us.us.preheader
B92.endif.us564.us.us.preheader:
  %xtraiter54 = and i64 %.quot.0, 1
  %lcmp.mod55.not = icmp eq i64 %xtraiter54, 0
  br i1 %lcmp.mod55.not, label %B92.endif.us564.us.us.prol.loopexit, label %B126.us573.prol.us.us.prol.preheader
B126.us573.prol.us.us.prol.preheader:
  br label %B126.us573.prol.us.us.prol
B126.us573.prol.us.us.prol:
  %.463460462.us575.prol.us.us.prol = phi i64 [ %.470.us577.prol.us.us.prol, %B126.us573.prol.us.us.prol ], [ 0, %B126.us573.prol.us.us.prol.preheader ]
  %.470.us577.prol.us.us.prol = add nuw nsw i64 %.463460462.us575.prol.us.us.prol, 1
  %103 = shl nuw nsw i64 %.463460462.us575.prol.us.us.prol, 3
  %scevgep66 = getelementptr i8, ptr %94, i64 %103
  %.545.us581.prol.us.us.prol = load double, ptr %scevgep66, align 8
  %.546.us582.prol.us.us.prol = fneg double %.545.us581.prol.us.us.prol
  %104 = shl nuw nsw i64 %.463460462.us575.prol.us.us.prol, 3
  %scevgep65 = getelementptr i8, ptr %arg.pull.4, i64 %104
  store double %.546.us582.prol.us.us.prol, ptr %scevgep65, align 8
  %prol.iter85.cmp.not.us.us.prol = icmp eq i64 %xtraiter83, %.470.us577.prol.us.us.prol
  br i1 %prol.iter85.cmp.not.us.us.prol, label %B126.us573.prol.loopexit.loopexit.us.us.prol, label %B126.us573.prol.us.us.prol, !llvm.loop !65
B126.us573.prol.loopexit.loopexit.us.us.prol:
  %.345.us567.us.us.prol = add nsw i64 %.quot.0, -1
  br label %B92.endif.us564.us.us.prol.loopexit
B92.endif.us564.us.us.prol.loopexit:
  %.335505525.us565.us.us.unr = phi i64 [ %.quot.0, %B92.endif.us564.us.us.preheader ], [ %.345.us567.us.us.prol, %B126.us573.prol.loopexit.loopexit.us.us.prol ]
  %105 = icmp eq i64 %quot.0, 1
  br i1 %105, label %B450, label %B92.endif.us564.us.us.preheader56
B92.endif.us564.us.us.preheader56:
  br label %B92.endif.us564.us.us
B92.endif.us564.us.us:
  %.335505525.us565.us.us = phi i64 [ %.345.us567.us.us.1, %B126.us573.prol.loopexit.loopexit.us.us.1 ], [ %.335505525.us565.us.us.unr, %B92.endif.us564.us.us.preheader56 ]
  br label %B126.us573.prol.us.us
B126.us573.prol.us.us:
  %.463460462.us575.prol.us.us = phi i64 [ %.470.us577.prol.us.us, %B126.us573.prol.us.us ], [ 0, %B92.endif.us564.us.us ]
  %.470.us577.prol.us.us = add nuw i64 %.463460462.us575.prol.us.us, 1
  %106 = shl i64 %.463460462.us575.prol.us.us, 3
  %scevgep101.us.us = getelementptr i8, ptr %94, i64 %106
  %.545.us581.prol.us.us = load double, ptr %scevgep101.us.us, align 8
  %.546.us582.prol.us.us = fneg double %.545.us581.prol.us.us
  %scevgep100.us.us = getelementptr i8, ptr %arg.pull.4, i64 %106
  store double %.546.us582.prol.us.us, ptr %scevgep100.us.us, align 8
  %prol.iter85.cmp.not.us.us = icmp eq i64 %xtraiter83, %.470.us577.prol.us.us
  br i1 %prol.iter85.cmp.not.us.us, label %B126.us573.prol.us.us.1.preheader, label %B126.us573.prol.us.us, !llvm.loop !65
B126.us573.prol.us.us.1.preheader:
  br label %B126.us573.prol.us.us.1
B126.us573.prol.us.us.1:
  %.463460462.us575.prol.us.us.1 = phi i64 [ %.470.us577.prol.us.us.1, %B126.us573.prol.us.us.1 ], [ 0, %B126.us573.prol.us.us.1.preheader ]
  %.470.us577.prol.us.us.1 = add nuw i64 %.463460462.us575.prol.us.us.1, 1
  %107 = shl i64 %.463460462.us575.prol.us.us.1, 3
  %scevgep101.us.us.1 = getelementptr i8, ptr %94, i64 %107
  %.545.us581.prol.us.us.1 = load double, ptr %scevgep101.us.us.1, align 8
  %.546.us582.prol.us.us.1 = fneg double %.545.us581.prol.us.us.1
  %scevgep100.us.us.1 = getelementptr i8, ptr %arg.pull.4, i64 %107
  store double %.546.us582.prol.us.us.1, ptr %scevgep100.us.us.1, align 8
  %prol.iter85.cmp.not.us.us.1 = icmp eq i64 %xtraiter83, %.470.us577.prol.us.us.1
  br i1 %prol.iter85.cmp.not.us.us.1, label %B126.us573.prol.loopexit.loopexit.us.us.1, label %B126.us573.prol.us.us.1, !llvm.loop !65
B126.us573.prol.loopexit.loopexit.us.us.1:
  %.345.us567.us.us.1 = add nsw i64 %.335505525.us565.us.us, -2
  %.336.us572.us.us.1 = icmp sgt i64 %.335505525.us565.us.us, 2
  br i1 %.336.us572.us.us.1, label %B92.endif.us564.us.us, label %B450
B92.endif.us564.preheader.split.us.split:
  %108 = icmp eq i64 %xtraiter83, 0
  br i1 %108, label %B92.endif.us564.us.us19.preheader, label %B92.endif.us564.us.preheader
B92.endif.us564.us.preheader:
  br label %B92.endif.us564.us
B92.endif.us564.us.us19.preheader:
  br label %B92.endif.us564.us.us19
B92.endif.us564.us.us19:
  %.335505525.us565.us.us20 = phi i64 [ %.345.us567.us.us23, %B124.B158.endif_crit_edge.us587.loopexit.us.us ], [ %.quot.0, %B92.endif.us564.us.us19.preheader ]
  br label %B126.us573.us.us
B126.us573.us.us:
  %.463460462.us575.us.us = phi i64 [ %.470.us577.3.us.us, %B126.us573.us.us ], [ 0, %B92.endif.us564.us.us19 ]
  %109 = shl i64 %.463460462.us575.us.us, 3
  %scevgep114.us.us = getelementptr i8, ptr %scevgep110, i64 %109
  %scevgep115.us.us = getelementptr i8, ptr %scevgep114.us.us, i64 -24
  %.545.us581.us.us = load double, ptr %scevgep115.us.us, align 8
  %.546.us582.us.us = fneg double %.545.us581.us.us
  %sunkaddr277 = mul i64 %.463460462.us575.us.us, 8
  %sunkaddr278 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr277
  store double %.546.us582.us.us, ptr %sunkaddr278, align 8
  %110 = shl i64 %.463460462.us575.us.us, 3
  %scevgep77 = getelementptr i8, ptr %scevgep110, i64 %110
  %scevgep78 = getelementptr i8, ptr %scevgep77, i64 -16
  %.545.us581.1.us.us = load double, ptr %scevgep78, align 8
  %.546.us582.1.us.us = fneg double %.545.us581.1.us.us
  %111 = shl i64 %.463460462.us575.us.us, 3
  %sunkaddr279 = mul i64 %.463460462.us575.us.us, 8
  %sunkaddr280 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr279
  %sunkaddr281 = getelementptr i8, ptr %sunkaddr280, i64 8
  store double %.546.us582.1.us.us, ptr %sunkaddr281, align 8
  %scevgep75 = getelementptr i8, ptr %scevgep110, i64 %111
  %scevgep76 = getelementptr i8, ptr %scevgep75, i64 -8
  %.545.us581.2.us.us = load double, ptr %scevgep76, align 8
  %.546.us582.2.us.us = fneg double %.545.us581.2.us.us
  %sunkaddr282 = mul i64 %.463460462.us575.us.us, 8
  %sunkaddr283 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr282
  %sunkaddr284 = getelementptr i8, ptr %sunkaddr283, i64 16
  store double %.546.us582.2.us.us, ptr %sunkaddr284, align 8
  %.470.us577.3.us.us = add nuw nsw i64 %.463460462.us575.us.us, 4
  %.545.us581.3.us.us = load double, ptr %scevgep114.us.us, align 8
  %.546.us582.3.us.us = fneg double %.545.us581.3.us.us
  %sunkaddr285 = mul i64 %.463460462.us575.us.us, 8
  %sunkaddr286 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr285
  %sunkaddr287 = getelementptr i8, ptr %sunkaddr286, i64 24
  store double %.546.us582.3.us.us, ptr %sunkaddr287, align 8
  %exitcond618.not.3.us.us = icmp eq i64 %arg.count, %.470.us577.3.us.us
  br i1 %exitcond618.not.3.us.us, label %B124.B158.endif_crit_edge.us587.loopexit.us.us, label %B126.us573.us.us, !llvm.loop !66
B124.B158.endif_crit_edge.us587.loopexit.us.us:
  %.345.us567.us.us23 = add nsw i64 %.335505525.us565.us.us20, -1
  %.336.us572.us.us24 = icmp sgt i64 %.335505525.us565.us.us20, 1
  br i1 %.336.us572.us.us24, label %B92.endif.us564.us.us19, label %B450
B92.endif.us564.us:
  %.335505525.us565.us = phi i64 [ %.345.us567.us, %B124.B158.endif_crit_edge.us587.loopexit.us ], [ %.quot.0, %B92.endif.us564.us.preheader ]
  br label %B126.us573.prol.us
B126.us573.prol.us:
  %.463460462.us575.prol.us = phi i64 [ %.470.us577.prol.us, %B126.us573.prol.us ], [ 0, %B92.endif.us564.us ]
  %.470.us577.prol.us = add nuw nsw i64 %.463460462.us575.prol.us, 1
  %112 = shl nuw nsw i64 %.463460462.us575.prol.us, 3
  %scevgep80 = getelementptr i8, ptr %94, i64 %112
  %.545.us581.prol.us = load double, ptr %scevgep80, align 8
  %.546.us582.prol.us = fneg double %.545.us581.prol.us
  %113 = shl nuw nsw i64 %.463460462.us575.prol.us, 3
  %scevgep79 = getelementptr i8, ptr %arg.pull.4, i64 %113
  store double %.546.us582.prol.us, ptr %scevgep79, align 8
  %prol.iter85.cmp.not.us = icmp eq i64 %xtraiter83, %.470.us577.prol.us
  br i1 %prol.iter85.cmp.not.us, label %B126.us573.us.preheader, label %B126.us573.prol.us, !llvm.loop !65
B126.us573.us.preheader:
  br label %B126.us573.us
B126.us573.us:
  %.463460462.us575.us = phi i64 [ %.470.us577.3.us, %B126.us573.us ], [ %.470.us577.prol.us, %B126.us573.us.preheader ]
  %114 = shl i64 %.463460462.us575.us, 3
  %scevgep114.us = getelementptr i8, ptr %scevgep110, i64 %114
  %scevgep115.us = getelementptr i8, ptr %scevgep114.us, i64 -24
  %.545.us581.us = load double, ptr %scevgep115.us, align 8
  %.546.us582.us = fneg double %.545.us581.us
  %sunkaddr288 = mul i64 %.463460462.us575.us, 8
  %sunkaddr289 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr288
  store double %.546.us582.us, ptr %sunkaddr289, align 8
  %115 = shl i64 %.463460462.us575.us, 3
  %scevgep91 = getelementptr i8, ptr %scevgep110, i64 %115
  %scevgep92 = getelementptr i8, ptr %scevgep91, i64 -16
  %.545.us581.1.us = load double, ptr %scevgep92, align 8
  %.546.us582.1.us = fneg double %.545.us581.1.us
  %116 = shl i64 %.463460462.us575.us, 3
  %sunkaddr290 = mul i64 %.463460462.us575.us, 8
  %sunkaddr291 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr290
  %sunkaddr292 = getelementptr i8, ptr %sunkaddr291, i64 8
  store double %.546.us582.1.us, ptr %sunkaddr292, align 8
  %scevgep89 = getelementptr i8, ptr %scevgep110, i64 %116
  %scevgep90 = getelementptr i8, ptr %scevgep89, i64 -8
  %.545.us581.2.us = load double, ptr %scevgep90, align 8
  %.546.us582.2.us = fneg double %.545.us581.2.us
  %sunkaddr293 = mul i64 %.463460462.us575.us, 8
  %sunkaddr294 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr293
  %sunkaddr295 = getelementptr i8, ptr %sunkaddr294, i64 16
  store double %.546.us582.2.us, ptr %sunkaddr295, align 8
  %.470.us577.3.us = add nuw nsw i64 %.463460462.us575.us, 4
  %.545.us581.3.us = load double, ptr %scevgep114.us, align 8
  %.546.us582.3.us = fneg double %.545.us581.3.us
  %sunkaddr296 = mul i64 %.463460462.us575.us, 8
  %sunkaddr297 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr296
  %sunkaddr298 = getelementptr i8, ptr %sunkaddr297, i64 24
  store double %.546.us582.3.us, ptr %sunkaddr298, align 8
  %exitcond618.not.3.us = icmp eq i64 %arg.count, %.470.us577.3.us
  br i1 %exitcond618.not.3.us, label %B124.B158.endif_crit_edge.us587.loopexit.us, label %B126.us573.us, !llvm.loop !66
B124.B158.endif_crit_edge.us587.loopexit.us:
  %.345.us567.us = add nsw i64 %.335505525.us565.us, -1
  %.336.us572.us = icmp sgt i64 %.335505525.us565.us, 1
  br i1 %.336.us572.us, label %B92.endif.us564.us, label %B450
B92.endif.us564.preheader.split:
  %117 = icmp eq i64 %n.vec60, %arg.count
  %118 = sub nsw i64 %n.vec60, %arg.count
  br i1 %117, label %B92.endif.us564.us14.preheader, label %B92.endif.us564.preheader61
B92.endif.us564.preheader61:
  br label %B92.endif.us564
B92.endif.us564.us14.preheader:
  %xtraiter53 = and i64 %.quot.0, 1
  %lcmp.mod.not = icmp eq i64 %xtraiter53, 0
  br i1 %lcmp.mod.not, label %B92.endif.us564.us14.prol.loopexit, label %vector.body61.us.prol.preheader
vector.body61.us.prol.preheader:
  br label %vector.body61.us.prol
vector.body61.us.prol:
  %index62.us.prol = phi i64 [ %index.next65.us.prol, %vector.body61.us.prol ], [ 0, %vector.body61.us.prol.preheader ]
  %119 = shl i64 %index62.us.prol, 3
  %scevgep98.us.prol = getelementptr i8, ptr %scevgep96, i64 %119
  %scevgep99.us.prol = getelementptr i8, ptr %scevgep98.us.prol, i64 -16
  %wide.load63.us.prol = load <2 x double>, ptr %scevgep99.us.prol, align 8
  %wide.load64.us.prol = load <2 x double>, ptr %scevgep98.us.prol, align 8
  %120 = fneg <2 x double> %wide.load63.us.prol
  %121 = fneg <2 x double> %wide.load64.us.prol
  %sunkaddr299 = mul i64 %index62.us.prol, 8
  %sunkaddr300 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr299
  store <2 x double> %120, ptr %sunkaddr300, align 8
  %sunkaddr301 = mul i64 %index62.us.prol, 8
  %sunkaddr302 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr301
  %sunkaddr303 = getelementptr i8, ptr %sunkaddr302, i64 16
  store <2 x double> %121, ptr %sunkaddr303, align 8
  %index.next65.us.prol = add nuw nsw i64 %index62.us.prol, 4
  %122 = icmp eq i64 %arg.count, %index.next65.us.prol
  br i1 %122, label %middle.block66.us.prol, label %vector.body61.us.prol, !llvm.loop !67
middle.block66.us.prol:
  %.345.us567.us17.prol = add nsw i64 %.quot.0, -1
  br label %B92.endif.us564.us14.prol.loopexit
B92.endif.us564.us14.prol.loopexit:
  %.335505525.us565.us15.unr = phi i64 [ %.quot.0, %B92.endif.us564.us14.preheader ], [ %.345.us567.us17.prol, %middle.block66.us.prol ]
  %123 = icmp eq i64 %quot.0, 1
  br i1 %123, label %B450, label %B92.endif.us564.us14.preheader59
B92.endif.us564.us14.preheader59:
  br label %B92.endif.us564.us14
B92.endif.us564.us14:
  %.335505525.us565.us15 = phi i64 [ %.345.us567.us17.1, %middle.block66.us.1 ], [ %.335505525.us565.us15.unr, %B92.endif.us564.us14.preheader59 ]
  br label %vector.body61.us
vector.body61.us:
  %index62.us = phi i64 [ %index.next65.us, %vector.body61.us ], [ 0, %B92.endif.us564.us14 ]
  %124 = shl i64 %index62.us, 3
  %scevgep98.us = getelementptr i8, ptr %scevgep96, i64 %124
  %scevgep99.us = getelementptr i8, ptr %scevgep98.us, i64 -16
  %wide.load63.us = load <2 x double>, ptr %scevgep99.us, align 8
  %wide.load64.us = load <2 x double>, ptr %scevgep98.us, align 8
  %125 = fneg <2 x double> %wide.load63.us
  %126 = fneg <2 x double> %wide.load64.us
  %sunkaddr304 = mul i64 %index62.us, 8
  %sunkaddr305 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr304
  store <2 x double> %125, ptr %sunkaddr305, align 8
  %sunkaddr306 = mul i64 %index62.us, 8
  %sunkaddr307 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr306
  %sunkaddr308 = getelementptr i8, ptr %sunkaddr307, i64 16
  store <2 x double> %126, ptr %sunkaddr308, align 8
  %index.next65.us = add nuw nsw i64 %index62.us, 4
  %127 = icmp eq i64 %arg.count, %index.next65.us
  br i1 %127, label %vector.body61.us.1.preheader, label %vector.body61.us, !llvm.loop !67
vector.body61.us.1.preheader:
  br label %vector.body61.us.1
vector.body61.us.1:
  %index62.us.1 = phi i64 [ %index.next65.us.1, %vector.body61.us.1 ], [ 0, %vector.body61.us.1.preheader ]
  %128 = shl i64 %index62.us.1, 3
  %scevgep98.us.1 = getelementptr i8, ptr %scevgep96, i64 %128
  %scevgep99.us.1 = getelementptr i8, ptr %scevgep98.us.1, i64 -16
  %wide.load63.us.1 = load <2 x double>, ptr %scevgep99.us.1, align 8
  %wide.load64.us.1 = load <2 x double>, ptr %scevgep98.us.1, align 8
  %129 = fneg <2 x double> %wide.load63.us.1
  %130 = fneg <2 x double> %wide.load64.us.1
  %sunkaddr309 = mul i64 %index62.us.1, 8
  %sunkaddr310 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr309
  store <2 x double> %129, ptr %sunkaddr310, align 8
  %sunkaddr311 = mul i64 %index62.us.1, 8
  %sunkaddr312 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr311
  %sunkaddr313 = getelementptr i8, ptr %sunkaddr312, i64 16
  store <2 x double> %130, ptr %sunkaddr313, align 8
  %index.next65.us.1 = add nuw nsw i64 %index62.us.1, 4
  %131 = icmp eq i64 %arg.count, %index.next65.us.1
  br i1 %131, label %middle.block66.us.1, label %vector.body61.us.1, !llvm.loop !67
middle.block66.us.1:
  %.345.us567.us17.1 = add nsw i64 %.335505525.us565.us15, -2
  %.336.us572.us18.1 = icmp sgt i64 %.335505525.us565.us15, 2
  br i1 %.336.us572.us18.1, label %B92.endif.us564.us14, label %B450
B92.endif.us564:
  %.335505525.us565 = phi i64 [ %.345.us567, %B124.B158.endif_crit_edge.us587 ], [ %.quot.0, %B92.endif.us564.preheader61 ]
  br label %vector.body61
vector.body61:
  %index62 = phi i64 [ %index.next65, %vector.body61 ], [ 0, %B92.endif.us564 ]
  %132 = shl i64 %index62, 3
  %scevgep98 = getelementptr i8, ptr %scevgep96, i64 %132
  %scevgep99 = getelementptr i8, ptr %scevgep98, i64 -16
  %wide.load63 = load <2 x double>, ptr %scevgep99, align 8
  %wide.load64 = load <2 x double>, ptr %scevgep98, align 8
  %133 = fneg <2 x double> %wide.load63
  %134 = fneg <2 x double> %wide.load64
  %sunkaddr314 = mul i64 %index62, 8
  %sunkaddr315 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr314
  store <2 x double> %133, ptr %sunkaddr315, align 8
  %sunkaddr316 = mul i64 %index62, 8
  %sunkaddr317 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr316
  %sunkaddr318 = getelementptr i8, ptr %sunkaddr317, i64 16
  store <2 x double> %134, ptr %sunkaddr318, align 8
  %index.next65 = add nuw nsw i64 %index62, 4
  %135 = icmp eq i64 %n.vec60, %index.next65
  br i1 %135, label %middle.block66, label %vector.body61, !llvm.loop !67
middle.block66:
  %136 = icmp eq i64 %xtraiter83, 0
  br i1 %136, label %B126.us573.prol.loopexit, label %B126.us573.prol.preheader
B126.us573.prol.preheader:
  br label %B126.us573.prol
B126.us573.prol:
  %lsr.iv = phi i64 [ %lsr.iv.next, %B126.us573.prol ], [ %xtraiter83, %B126.us573.prol.preheader ]
  %.463460462.us575.prol = phi i64 [ %.470.us577.prol, %B126.us573.prol ], [ %n.vec60, %B126.us573.prol.preheader ]
  %.470.us577.prol = add nuw nsw i64 %.463460462.us575.prol, 1
  %137 = shl i64 %.463460462.us575.prol, 3
  %scevgep101 = getelementptr i8, ptr %94, i64 %137
  %.545.us581.prol = load double, ptr %scevgep101, align 8
  %.546.us582.prol = fneg double %.545.us581.prol
  %scevgep100 = getelementptr i8, ptr %arg.pull.4, i64 %137
  store double %.546.us582.prol, ptr %scevgep100, align 8
  %lsr.iv.next = add nsw i64 %lsr.iv, -1
  %prol.iter85.cmp.not = icmp eq i64 %lsr.iv.next, 0
  br i1 %prol.iter85.cmp.not, label %B126.us573.prol.loopexit, label %B126.us573.prol, !llvm.loop !65
B126.us573.prol.loopexit:
  %.463460462.us575.unr = phi i64 [ %n.vec60, %middle.block66 ], [ %.470.us577.prol, %B126.us573.prol ]
  %138 = icmp ugt i64 %118, -4
  br i1 %138, label %B124.B158.endif_crit_edge.us587, label %B126.us573.preheader
B126.us573.preheader:
  br label %B126.us573
B126.us573:
  %.463460462.us575 = phi i64 [ %.470.us577.3, %B126.us573 ], [ %.463460462.us575.unr, %B126.us573.preheader ]
  %139 = shl i64 %.463460462.us575, 3
  %scevgep114 = getelementptr i8, ptr %scevgep110, i64 %139
  %scevgep115 = getelementptr i8, ptr %scevgep114, i64 -24
  %.545.us581 = load double, ptr %scevgep115, align 8
  %.546.us582 = fneg double %.545.us581
  %sunkaddr319 = mul i64 %.463460462.us575, 8
  %sunkaddr320 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr319
  store double %.546.us582, ptr %sunkaddr320, align 8
  %140 = shl i64 %.463460462.us575, 3
  %scevgep134 = getelementptr i8, ptr %scevgep110, i64 %140
  %scevgep135 = getelementptr i8, ptr %scevgep134, i64 -16
  %.545.us581.1 = load double, ptr %scevgep135, align 8
  %.546.us582.1 = fneg double %.545.us581.1
  %141 = shl i64 %.463460462.us575, 3
  %sunkaddr321 = mul i64 %.463460462.us575, 8
  %sunkaddr322 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr321
  %sunkaddr323 = getelementptr i8, ptr %sunkaddr322, i64 8
  store double %.546.us582.1, ptr %sunkaddr323, align 8
  %scevgep132 = getelementptr i8, ptr %scevgep110, i64 %141
  %scevgep133 = getelementptr i8, ptr %scevgep132, i64 -8
  %.545.us581.2 = load double, ptr %scevgep133, align 8
  %.546.us582.2 = fneg double %.545.us581.2
  %sunkaddr324 = mul i64 %.463460462.us575, 8
  %sunkaddr325 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr324
  %sunkaddr326 = getelementptr i8, ptr %sunkaddr325, i64 16
  store double %.546.us582.2, ptr %sunkaddr326, align 8
  %.470.us577.3 = add nuw nsw i64 %.463460462.us575, 4
  %.545.us581.3 = load double, ptr %scevgep114, align 8
  %.546.us582.3 = fneg double %.545.us581.3
  %sunkaddr327 = mul i64 %.463460462.us575, 8
  %sunkaddr328 = getelementptr i8, ptr %arg.pull.4, i64 %sunkaddr327
  %sunkaddr329 = getelementptr i8, ptr %sunkaddr328, i64 24
  store double %.546.us582.3, ptr %sunkaddr329, align 8
  %exitcond618.not.3 = icmp eq i64 %arg.count, %.470.us577.3
  br i1 %exitcond618.not.3, label %B124.B158.endif_crit_edge.us587, label %B126.us573, !llvm.loop !66
B124.B158.endif_crit_edge.us587:
  %.345.us567 = add nsw i64 %.335505525.us565, -1
  %.336.us572 = icmp sgt i64 %.335505525.us565, 1
  br i1 %.336.us572, label %B92.endif.us564, label %B450
}
define linkonce_odr range(i32 -1, -2) i32 @pramana.rework.4(ptr noalias writeonly captures(none) %retptr, ptr noalias writeonly captures(none) %excinfo, ptr readnone captures(none) %arg.state.0.0, ptr readnone captures(none) %arg.state.0.1, i64 %arg.state.0.2, i64 %arg.state.0.3, ptr readonly captures(none) %arg.state.0.4, i64 %arg.state.0.5.0, i64 %arg.state.0.5.1, i64 %arg.state.0.6.0, i64 %arg.state.0.6.1, ptr readnone captures(none) %arg.state.1.0, ptr readnone captures(none) %arg.state.1.1, i64 %arg.state.1.2, i64 %arg.state.1.3, ptr captures(none) %arg.state.1.4, i64 %arg.state.1.5.0, i64 %arg.state.1.6.0, i64 %arg.state.2, i64 %arg.state.3, ptr readnone captures(none) %arg.state.4.0, ptr readnone captures(none) %arg.state.4.1, i64 %arg.state.4.2, i64 %arg.state.4.3, ptr captures(none) %arg.state.4.4, i64 %arg.state.4.5.0, i64 %arg.state.4.5.1, i64 %arg.state.4.6.0, i64 %arg.state.4.6.1, ptr readnone captures(none) %arg.state.5.0, ptr readnone captures(none) %arg.state.5.1, i64 %arg.state.5.2, i64 %arg.state.5.3, ptr captures(none) %arg.state.5.4, i64 %arg.state.5.5.0, i64 %arg.state.5.6.0, ptr readnone captures(none) %arg.state.6.0, ptr readnone captures(none) %arg.state.6.1, i64 %arg.state.6.2, i64 %arg.state.6.3, ptr captures(none) %arg.state.6.4, i64 %arg.state.6.5.0, i64 %arg.state.6.6.0, i64 %arg.rules.0, i64 %arg.rules.1, double %arg.rules.2, ptr readnone captures(none) %arg.edge.0, ptr readnone captures(none) %arg.edge.1, i64 %arg.edge.2, i64 %arg.edge.3, ptr captures(none) %arg.edge.4, i64 %arg.edge.5.0, i64 %arg.edge.5.1, i64 %arg.edge.6.0, i64 %arg.edge.6.1, ptr readnone captures(none) %arg.lies.0, ptr readnone captures(none) %arg.lies.1, i64 %arg.lies.2, i64 %arg.lies.3, ptr captures(none) %arg.lies.4, i64 %arg.lies.5.0, i64 %arg.lies.5.1, i64 %arg.lies.6.0, i64 %arg.lies.6.1, ptr readnone captures(none) %arg.last.0, ptr readnone captures(none) %arg.last.1, i64 %arg.last.2, i64 %arg.last.3, ptr captures(none) %arg.last.4, i64 %arg.last.5.0, i64 %arg.last.6.0) local_unnamed_addr #0 {
B0.else.if:
  %.939 = alloca i64, align 8
  %excinfo.2 = alloca ptr, align 8
  store ptr null, ptr %excinfo.2, align 8
  %.231 = icmp sgt i64 %arg.state.3, 0
  br i1 %.231, label %B94.preheader, label %B524
B94.preheader:
  %.144 = add nsw i64 %arg.state.3, -1
  %.146 = mul i64 %.144, %arg.state.3
  %.154.1 = lshr i64 %.146, 1
  %0 = shl nuw i64 %arg.state.3, 3
  tail call void @llvm.memset.p0.i64(ptr align 8 %arg.last.4, i8 0, i64 %0, i1 false)
  %1 = sub i64 1, %.154.1
  br label %B140.endif.us
B480:
  %total.2.0684 = phi double [ 0.000000e+00, %B480.preheader.new ], [ %.1372.3, %B480 ]
  %.1274680682 = phi i64 [ 0, %B480.preheader.new ], [ %.1281.3, %B480 ]
  %sunkaddr26 = mul i64 %.1274680682, 8
  %sunkaddr27 = getelementptr i8, ptr %arg.state.5.4, i64 %sunkaddr26
  %.1335 = load double, ptr %sunkaddr27, align 8
  %sunkaddr28 = mul i64 %.1274680682, 8
  %sunkaddr29 = getelementptr i8, ptr %arg.state.6.4, i64 %sunkaddr28
  %.1365 = load i64, ptr %sunkaddr29, align 8
  %.1366 = sitofp i64 %.1365 to double
  %.1370 = fdiv double %.1335, %.1366
  %.1372 = fadd double %total.2.0684, %.1370
  %sunkaddr = mul i64 %.1274680682, 8
  %sunkaddr30 = getelementptr i8, ptr %arg.state.5.4, i64 %sunkaddr
  %sunkaddr31 = getelementptr i8, ptr %sunkaddr30, i64 8
  %.1335.1 = load double, ptr %sunkaddr31, align 8
  %sunkaddr32 = mul i64 %.1274680682, 8
  %sunkaddr33 = getelementptr i8, ptr %arg.state.6.4, i64 %sunkaddr32
  %sunkaddr34 = getelementptr i8, ptr %sunkaddr33, i64 8
  %.1365.1 = load i64, ptr %sunkaddr34, align 8
  %.1366.1 = sitofp i64 %.1365.1 to double
  %.1370.1 = fdiv double %.1335.1, %.1366.1
  %.1372.1 = fadd double %.1372, %.1370.1
  %sunkaddr35 = mul i64 %.1274680682, 8
  %sunkaddr36 = getelementptr i8, ptr %arg.state.5.4, i64 %sunkaddr35
  %sunkaddr37 = getelementptr i8, ptr %sunkaddr36, i64 16
  %.1335.2 = load double, ptr %sunkaddr37, align 8
  %sunkaddr38 = mul i64 %.1274680682, 8
  %sunkaddr39 = getelementptr i8, ptr %arg.state.6.4, i64 %sunkaddr38
  %sunkaddr40 = getelementptr i8, ptr %sunkaddr39, i64 16
  %.1365.2 = load i64, ptr %sunkaddr40, align 8
  %.1366.2 = sitofp i64 %.1365.2 to double
  %.1370.2 = fdiv double %.1335.2, %.1366.2
  %.1372.2 = fadd double %.1372.1, %.1370.2
  %.1281.3 = add nuw nsw i64 %.1274680682, 4
  %sunkaddr41 = mul i64 %.1274680682, 8
  %sunkaddr42 = getelementptr i8, ptr %arg.state.5.4, i64 %sunkaddr41
  %sunkaddr43 = getelementptr i8, ptr %sunkaddr42, i64 24
  %.1335.3 = load double, ptr %sunkaddr43, align 8
  %sunkaddr44 = mul i64 %.1274680682, 8
  %sunkaddr45 = getelementptr i8, ptr %arg.state.6.4, i64 %sunkaddr44
  %sunkaddr46 = getelementptr i8, ptr %sunkaddr45, i64 24
  %.1365.3 = load i64, ptr %sunkaddr46, align 8
  %.1366.3 = sitofp i64 %.1365.3 to double
  %.1370.3 = fdiv double %.1335.3, %.1366.3
  %.1372.3 = fadd double %.1372.2, %.1370.3
  %niter.ncmp.3 = icmp eq i64 %unroll_iter, %.1281.3
  br i1 %niter.ncmp.3, label %B524.loopexit.unr-lcssa, label %B480
common.ret:
  %common.ret.op = phi i32 [ 0, %B524 ], [ %.965.us, %B308.if.if ]
  ret i32 %common.ret.op
B524.loopexit.unr-lcssa:
  %lcmp.mod.not = icmp eq i64 %xtraiter, 0
  br i1 %lcmp.mod.not, label %B524, label %B480.epil.preheader
B480.epil.preheader:
  %total.2.0684.epil.init = phi double [ 0.000000e+00, %B480.preheader ], [ %.1372.3, %B524.loopexit.unr-lcssa ]
  %.1274680682.epil.init = phi i64 [ 0, %B480.preheader ], [ %unroll_iter, %B524.loopexit.unr-lcssa ]
  %2 = shl i64 %.1274680682.epil.init, 3
  %scevgep = getelementptr i8, ptr %arg.state.6.4, i64 %2
  %scevgep14 = getelementptr i8, ptr %arg.state.5.4, i64 %2
  br label %B480.epil
B480.epil:
  %total.2.0684.epil = phi double [ %.1372.epil, %B480.epil ], [ %total.2.0684.epil.init, %B480.epil.preheader ]
  %epil.iter = phi i64 [ %epil.iter.next, %B480.epil ], [ 0, %B480.epil.preheader ]
  %3 = shl i64 %epil.iter, 3
  %scevgep6 = getelementptr i8, ptr %scevgep14, i64 %3
  %.1335.epil = load double, ptr %scevgep6, align 8
  %4 = shl i64 %epil.iter, 3
  %scevgep5 = getelementptr i8, ptr %scevgep, i64 %4
  %.1365.epil = load i64, ptr %scevgep5, align 8
  %.1366.epil = sitofp i64 %.1365.epil to double
  %.1370.epil = fdiv double %.1335.epil, %.1366.epil
  %.1372.epil = fadd double %total.2.0684.epil, %.1370.epil
  %epil.iter.next = add i64 %epil.iter, 1
  %epil.iter.cmp.not = icmp eq i64 %xtraiter, %epil.iter.next
  br i1 %epil.iter.cmp.not, label %B524, label %B480.epil, !llvm.loop !68
B524:
  %total.2.0.lcssa = phi double [ 0.000000e+00, %B0.else.if ], [ %.1372.3, %B524.loopexit.unr-lcssa ], [ %.1372.epil, %B480.epil ]
  store double %total.2.0.lcssa, ptr %retptr, align 8
  br label %common.ret
B140.endif.us:
  %visit.4.0633.us = phi i64 [ %visit.2.2.lcssa.us, %B176.B434_crit_edge.us ], [ 0, %B94.preheader ]
  %.432609632.us = phi i64 [ %.442.us, %B176.B434_crit_edge.us ], [ 8, %B94.preheader ]
  %.439612631.us = phi i64 [ %.446.us, %B176.B434_crit_edge.us ], [ 0, %B94.preheader ]
  %.442.us = add nsw i64 %.432609632.us, -1
  %.446.us = add nuw nsw i64 %.439612631.us, 1
  %5 = add i64 %1, %visit.4.0633.us
  br label %B178.endif.us
B178.endif.us:
  %lsr.iv24 = phi i64 [ %lsr.iv.next25, %B176.loopexit.us ], [ %visit.4.0633.us, %B140.endif.us ]
  %lsr.iv = phi i64 [ %lsr.iv.next, %B176.loopexit.us ], [ %5, %B140.endif.us ]
  %changed.2.1602.us = phi i1 [ false, %B140.endif.us ], [ %changed.3.2.lcssa.us, %B176.loopexit.us ]
  %.569591599.us = phi i64 [ 0, %B140.endif.us ], [ %.576.us, %B176.loopexit.us ]
  %.576.us = add nuw nsw i64 %.569591599.us, 1
  %.696580.us.not = icmp eq i64 %.569591599.us, 0
  br i1 %.696580.us.not, label %B176.loopexit.us, label %B212.lr.ph.us
B212.endif.us:
  %changed.3.2584.us = phi i1 [ %changed.2.1602.us, %B212.lr.ph.us ], [ %changed.4.3.us, %B525.us ]
  %.702578581.us = phi i64 [ 0, %B212.lr.ph.us ], [ %.709.us, %B525.us ]
  %6 = icmp ne i64 %.439612631.us, 0
  %.709.us = add nuw nsw i64 %.702578581.us, 1
  %sunkaddr47 = mul i64 %.569591599.us, 8
  %sunkaddr48 = getelementptr i8, ptr %arg.last.4, i64 %sunkaddr47
  %.774.us = load i64, ptr %sunkaddr48, align 8
  %7 = shl i64 %.702578581.us, 3
  %scevgep32 = getelementptr i8, ptr %arg.last.4, i64 %7
  %.805.us = load i64, ptr %scevgep32, align 8
  %.11.i = tail call i64 @llvm.smax.i64(i64 %.805.us, i64 %.774.us)
  %8 = add i64 %lsr.iv, %.702578581.us
  %.837.us = icmp sle i64 %.11.i, %8
  %or.cond.us = select i1 %.837.us, i1 %6, i1 false
  br i1 %or.cond.us, label %B525.us, label %B308.us
B308.us:
  store i64 0, ptr %.939, align 8
  %.965.us = call i32 @pramana.rework.5(ptr nonnull %.939, ptr nonnull %excinfo.2, ptr %arg.state.0.0, ptr %arg.state.0.1, i64 %arg.state.0.2, i64 %arg.state.0.3, ptr %arg.state.0.4, i64 %arg.state.0.5.0, i64 %arg.state.0.5.1, i64 %arg.state.0.6.0, i64 %arg.state.0.6.1, ptr %arg.state.1.0, ptr %arg.state.1.1, i64 %arg.state.1.2, i64 %arg.state.1.3, ptr %arg.state.1.4, i64 %arg.state.1.5.0, i64 %arg.state.1.6.0, i64 %arg.state.2, i64 %.569591599.us, i64 %.702578581.us, ptr %arg.state.4.0, ptr %arg.state.4.1, i64 %arg.state.4.2, i64 %arg.state.4.3, ptr %arg.state.4.4, i64 %arg.state.4.5.0, i64 %arg.state.4.5.1, i64 %arg.state.4.6.0, i64 %arg.state.4.6.1, ptr %arg.state.5.0, ptr %arg.state.5.1, i64 %arg.state.5.2, i64 %arg.state.5.3, ptr %arg.state.5.4, i64 %arg.state.5.5.0, i64 %arg.state.5.6.0, ptr %arg.state.6.0, ptr %arg.state.6.1, i64 %arg.state.6.2, i64 %arg.state.6.3, ptr %arg.state.6.4, i64 %arg.state.6.5.0, i64 %arg.state.6.6.0, i64 %arg.rules.0, i64 %arg.rules.1, double %arg.rules.2, ptr %arg.edge.0, ptr %arg.edge.1, i64 %arg.edge.2, i64 %arg.edge.3, ptr %arg.edge.4, i64 %arg.edge.5.0, i64 %arg.edge.5.1, i64 %arg.edge.6.0, i64 %arg.edge.6.1, ptr %arg.lies.0, ptr %arg.lies.1, i64 %arg.lies.2, i64 %arg.lies.3, ptr %arg.lies.4, i64 %arg.lies.5.0, i64 %arg.lies.5.1, i64 %arg.lies.6.0, i64 %arg.lies.6.1)
  %.975.us = load i64, ptr %.939, align 8
  %cond = icmp eq i32 %.965.us, 0
  br i1 %cond, label %B308.endif.us, label %B308.if.if, !prof !0
B308.endif.us:
  %.989.not.us = icmp eq i64 %.975.us, 0
  br i1 %.989.not.us, label %B525.us, label %B384.us
B384.us:
  %.997.us.inv = icmp slt i64 %.975.us, 1
  %spec.select.us.v = select i1 %.997.us.inv, i64 2, i64 1
  %9 = add i64 %lsr.iv24, %spec.select.us.v
  %10 = add i64 %9, %.702578581.us
  %sunkaddr49 = mul i64 %.569591599.us, 8
  %sunkaddr50 = getelementptr i8, ptr %arg.last.4, i64 %sunkaddr49
  store i64 %10, ptr %sunkaddr50, align 8
  %sunkaddr51 = mul i64 %.702578581.us, 8
  %sunkaddr52 = getelementptr i8, ptr %arg.last.4, i64 %sunkaddr51
  store i64 %10, ptr %sunkaddr52, align 8
  br label %B525.us
B525.us:
  %changed.4.3.us = phi i1 [ %changed.3.2584.us, %B212.endif.us ], [ true, %B384.us ], [ %changed.3.2584.us, %B308.endif.us ]
  %exitcond700.not = icmp eq i64 %.569591599.us, %.709.us
  br i1 %exitcond700.not, label %B176.loopexit.us.loopexit, label %B212.endif.us
B176.loopexit.us.loopexit:
  %11 = add i64 %.569591599.us, %lsr.iv24
  br label %B176.loopexit.us
B176.loopexit.us:
  %visit.2.2.lcssa.us = phi i64 [ %lsr.iv24, %B178.endif.us ], [ %11, %B176.loopexit.us.loopexit ]
  %changed.3.2.lcssa.us = phi i1 [ %changed.2.1602.us, %B178.endif.us ], [ %changed.4.3.us, %B176.loopexit.us.loopexit ]
  %lsr.iv.next = add i64 %lsr.iv, %.569591599.us
  %lsr.iv.next25 = add i64 %lsr.iv24, %.569591599.us
  %exitcond701.not = icmp eq i64 %arg.state.3, %.576.us
  br i1 %exitcond701.not, label %B176.B434_crit_edge.us, label %B178.endif.us
B212.lr.ph.us:
  br label %B212.endif.us
B176.B434_crit_edge.us:
  %.433.us = icmp samesign ugt i64 %.432609632.us, 1
  %or.cond = select i1 %changed.3.2.lcssa.us, i1 %.433.us, i1 false
  br i1 %or.cond, label %B140.endif.us, label %B480.preheader
B480.preheader:
  %xtraiter = and i64 %arg.state.3, 3
  %12 = icmp ult i64 %arg.state.3, 4
  br i1 %12, label %B480.epil.preheader, label %B480.preheader.new
B480.preheader.new:
  %unroll_iter = and i64 %arg.state.3, 9223372036854775804
  br label %B480
B308.if.if:
  %.973 = icmp sgt i32 %.965.us, 0
  %.966 = load ptr, ptr %excinfo.2, align 8
  %.974 = select i1 %.973, ptr %.966, ptr undef
  store ptr %.974, ptr %excinfo, align 8
  br label %common.ret
}
define linkonce_odr range(i32 -1, -2) i32 @pramana.rework.5(ptr noalias writeonly captures(none) %retptr, ptr noalias writeonly captures(none) %excinfo, ptr readnone captures(none) %arg.gaps.0, ptr readnone captures(none) %arg.gaps.1, i64 %arg.gaps.2, i64 %arg.gaps.3, ptr readonly captures(none) %arg.gaps.4, i64 %arg.gaps.5.0, i64 %arg.gaps.5.1, i64 %arg.gaps.6.0, i64 %arg.gaps.6.1, ptr readnone captures(none) %arg.labels.0, ptr readnone captures(none) %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr captures(none) %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, i64 %arg.count, i64 %arg.a, i64 %arg.b, ptr readnone captures(none) %arg.sums.0, ptr readnone captures(none) %arg.sums.1, i64 %arg.sums.2, i64 %arg.sums.3, ptr captures(none) %arg.sums.4, i64 %arg.sums.5.0, i64 %arg.sums.5.1, i64 %arg.sums.6.0, i64 %arg.sums.6.1, ptr readnone captures(none) %arg.inner.0, ptr readnone captures(none) %arg.inner.1, i64 %arg.inner.2, i64 %arg.inner.3, ptr captures(none) %arg.inner.4, i64 %arg.inner.5.0, i64 %arg.inner.6.0, ptr readnone captures(none) %arg.sizes.0, ptr readnone captures(none) %arg.sizes.1, i64 %arg.sizes.2, i64 %arg.sizes.3, ptr captures(none) %arg.sizes.4, i64 %arg.sizes.5.0, i64 %arg.sizes.6.0, i64 %arg.k, i64 %arg.limit, double %arg.tolerance, ptr readnone captures(none) %arg.ids.0, ptr readnone captures(none) %arg.ids.1, i64 %arg.ids.2, i64 %arg.ids.3, ptr captures(none) %arg.ids.4, i64 %arg.ids.5.0, i64 %arg.ids.5.1, i64 %arg.ids.6.0, i64 %arg.ids.6.1, ptr readnone captures(none) %arg.lies.0, ptr readnone captures(none) %arg.lies.1, i64 %arg.lies.2, i64 %arg.lies.3, ptr captures(none) %arg.lies.4, i64 %arg.lies.5.0, i64 %arg.lies.5.1, i64 %arg.lies.6.0, i64 %arg.lies.6.1) local_unnamed_addr #0 {
B0.endif:
  %.334 = alloca i8, align 1
  %excinfo.1 = alloca ptr, align 8
  %.1278 = alloca ptr, align 8
  %excinfo.5 = alloca ptr, align 8
  %.1334 = alloca ptr, align 8
  %excinfo.6 = alloca ptr, align 8
  %0 = tail call i64 @llvm.smax.i64(i64 %arg.ids.5.1, i64 0)
  %storemerge = shl i64 %0, 2
  %.211976 = icmp sgt i64 %storemerge, 0
  br i1 %.211976, label %B66.lr.ph, label %B772
B66.lr.ph:
  %.687 = icmp slt i64 %arg.a, 0
  %1 = getelementptr i64, ptr %arg.sizes.4, i64 %arg.a
  %.723 = icmp slt i64 %arg.b, 0
  %2 = getelementptr i64, ptr %arg.sizes.4, i64 %arg.b
  %.748 = fneg double %arg.tolerance
  %.290.i = select i1 %.723, i64 %arg.sums.5.0, i64 0
  %.291.i = add i64 %.290.i, %arg.b
  %.311.i = mul i64 %.291.i, %arg.sums.5.1
  %3 = getelementptr double, ptr %arg.sums.4, i64 %.311.i
  %.378.i = select i1 %.687, i64 %arg.sums.5.0, i64 0
  %.379.i = add i64 %.378.i, %arg.a
  %.399.i = mul i64 %.379.i, %arg.sums.5.1
  %4 = getelementptr double, ptr %arg.sums.4, i64 %.399.i
  %.525.i = add nsw i64 %arg.ids.5.1, -1
  %.477.inv.i = icmp sgt i64 %arg.ids.5.1, 0
  %5 = getelementptr double, ptr %arg.lies.4, i64 %arg.ids.5.1
  %6 = getelementptr i8, ptr %5, i64 -8
  %7 = shl i64 %arg.sizes.5.0, 3
  %sunkaddr.i = select i1 %.723, i64 %7, i64 0
  %sunkaddr10.i = select i1 %.687, i64 %7, i64 0
  %8 = shl i64 %arg.lies.5.1, 3
  %sunkaddr12.i = select i1 %.477.inv.i, i64 0, i64 %8
  %9 = getelementptr double, ptr %arg.lies.4, i64 %arg.lies.5.1
  %10 = getelementptr i64, ptr %arg.ids.4, i64 %arg.ids.5.1
  %11 = getelementptr double, ptr %9, i64 %arg.ids.5.1
  %12 = getelementptr i8, ptr %11, i64 -8
  %13 = getelementptr double, ptr %arg.inner.4, i64 %arg.a
  %14 = getelementptr double, ptr %arg.inner.4, i64 %arg.b
  %15 = shl i64 %arg.inner.5.0, 3
  %sunkaddr267 = select i1 %.687, i64 %15, i64 0
  %sunkaddr269 = select i1 %.723, i64 %15, i64 0
  br label %B66
B66:
  %.217936981 = phi i64 [ 0, %B66.lr.ph ], [ %.224, %B768 ]
  %.224 = add nuw nsw i64 %.217936981, 1
  store i8 0, ptr %.334, align 1
  %.360 = call i32 @pramana.rework.6(ptr nonnull %.334, ptr nonnull %excinfo.1, ptr %arg.gaps.0, ptr %arg.gaps.1, i64 %arg.gaps.2, i64 %arg.gaps.3, ptr %arg.gaps.4, i64 %arg.gaps.5.0, i64 %arg.gaps.5.1, i64 %arg.gaps.6.0, i64 %arg.gaps.6.1, ptr %arg.labels.0, ptr %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, i64 %arg.count, i64 %arg.a, i64 %arg.b, ptr %arg.sums.0, ptr %arg.sums.1, i64 %arg.sums.2, i64 %arg.sums.3, ptr %arg.sums.4, i64 %arg.sums.5.0, i64 %arg.sums.5.1, i64 %arg.sums.6.0, i64 %arg.sums.6.1, ptr %arg.inner.0, ptr %arg.inner.1, i64 %arg.inner.2, i64 %arg.inner.3, ptr %arg.inner.4, i64 %arg.inner.5.0, i64 %arg.inner.6.0, ptr %arg.sizes.0, ptr %arg.sizes.1, i64 %arg.sizes.2, i64 %arg.sizes.3, ptr %arg.sizes.4, i64 %arg.sizes.5.0, i64 %arg.sizes.6.0, i64 %arg.k, i64 %arg.limit, double %arg.tolerance, ptr %arg.ids.0, ptr %arg.ids.1, i64 %arg.ids.2, i64 %arg.ids.3, ptr %arg.ids.4, i64 %arg.ids.5.0, i64 %arg.ids.5.1, i64 %arg.ids.6.0, i64 %arg.ids.6.1, ptr %arg.lies.0, ptr %arg.lies.1, i64 %arg.lies.2, i64 %arg.lies.3, ptr %arg.lies.4, i64 %arg.lies.5.0, i64 %arg.lies.5.1, i64 %arg.lies.6.0, i64 %arg.lies.6.1)
  %.370 = load i8, ptr %.334, align 1
  %.373 = icmp eq i8 %.370, 0
  br i1 %.373, label %B66.endif.thread, label %B66.endif
common.ret:
  %common.ret.op = phi i32 [ 0, %B132 ], [ 0, %B644 ], [ 0, %B772 ], [ %.360, %B66.endif.if.if ], [ %.1352, %B722.if.if ], [ %.1296, %B664.if.if ]
  ret i32 %common.ret.op
B132:
  store i64 %.217936981, ptr %retptr, align 8
  br label %common.ret
B300:
  %held.2.0.lcssa.i181 = phi i64 [ 0, %B182.preheader ], [ %held.3.1.i, %B493.i122 ]
  %held.2.0.lcssa.i125 = phi i64 [ 0, %B182.preheader ], [ %held.3.1.i123, %B493.i122 ]
  %sunkaddr = getelementptr inbounds i8, ptr %1, i64 %sunkaddr10.i
  %.703 = load i64, ptr %sunkaddr, align 8
  %.704 = sitofp i64 %.703 to double
  %.708 = fdiv double 1.000000e+00, %.704
  %sunkaddr94 = getelementptr inbounds i8, ptr %2, i64 %sunkaddr.i
  %.739 = load i64, ptr %sunkaddr94, align 8
  %.740 = sitofp i64 %.739 to double
  %.744 = fdiv double 1.000000e+00, %.740
  %.745 = fadd double %.708, %.744
  %.151295.not.i = icmp slt i64 %held.2.0.lcssa.i181, 1
  %.290279.not.i = icmp slt i64 %held.2.0.lcssa.i125, 1
  %or.cond195 = select i1 %.151295.not.i, i1 true, i1 %.290279.not.i
  br i1 %or.cond195, label %B430.preheader, label %B46.endif.us.i.preheader
B46.endif.us.i.preheader:
  br label %B46.endif.us.i
B46.endif.us.i:
  %y.2.0300.us.i = phi i64 [ %y.4.2.us.i, %B78.B44.loopexit_crit_edge.us.i ], [ -1, %B46.endif.us.i.preheader ]
  %x.2.0299.us.i = phi i64 [ %x.4.2.us.i, %B78.B44.loopexit_crit_edge.us.i ], [ -1, %B46.endif.us.i.preheader ]
  %best.4.0298.us.i = phi double [ %best.3.2.us.i, %B78.B44.loopexit_crit_edge.us.i ], [ %.748, %B46.endif.us.i.preheader ]
  %.157290296.us.i = phi i64 [ %.164.us.i, %B78.B44.loopexit_crit_edge.us.i ], [ 0, %B46.endif.us.i.preheader ]
  %16 = getelementptr double, ptr %arg.lies.4, i64 %.157290296.us.i
  %.401.us.i = load double, ptr %16, align 8, !noalias !69
  %17 = getelementptr i64, ptr %arg.ids.4, i64 %.157290296.us.i
  %.512.us.i = load i64, ptr %17, align 8, !noalias !69
  %.590.us.i = icmp slt i64 %.512.us.i, 0
  %.591.us.i = select i1 %.590.us.i, i64 %arg.gaps.5.0, i64 0
  %.592.us.i = add i64 %.591.us.i, %.512.us.i
  %.612.us.i = mul i64 %.592.us.i, %arg.gaps.5.1
  %18 = getelementptr double, ptr %arg.gaps.4, i64 %.612.us.i
  br label %B80.us.i
B80.us.i:
  %y.3.1284.us.i = phi i64 [ %y.2.0300.us.i, %B46.endif.us.i ], [ %y.4.2.us.i, %B80.us.i ]
  %x.3.1283.us.i = phi i64 [ %x.2.0299.us.i, %B46.endif.us.i ], [ %x.4.2.us.i, %B80.us.i ]
  %best.2.1282.us.i = phi double [ %best.4.0298.us.i, %B46.endif.us.i ], [ %best.3.2.us.i, %B80.us.i ]
  %.296278280.us.i = phi i64 [ 0, %B46.endif.us.i ], [ %.303.us.i, %B80.us.i ]
  %.303.us.i = add nuw nsw i64 %.296278280.us.i, 1
  %19 = shl i64 %.296278280.us.i, 3
  %scevgep1.i = getelementptr i8, ptr %9, i64 %19
  %.456.us.i = load double, ptr %scevgep1.i, align 8, !noalias !69
  %.457.us.i = fadd double %.401.us.i, %.456.us.i
  %scevgep.i = getelementptr i8, ptr %10, i64 %19
  %.567.us.i = load i64, ptr %scevgep.i, align 8, !noalias !69
  %.593.us.i = icmp slt i64 %.567.us.i, 0
  %.594.us.i = select i1 %.593.us.i, i64 %arg.gaps.5.1, i64 0
  %20 = getelementptr double, ptr %18, i64 %.567.us.i
  %.616.us.i = getelementptr double, ptr %20, i64 %.594.us.i
  %.617.us.i = load double, ptr %.616.us.i, align 8, !noalias !69
  %.619.us.i = fmul double %.745, %.617.us.i
  %.620.us.i = fsub double %.457.us.i, %.619.us.i
  %.626.us.i = fcmp olt double %.620.us.i, %best.2.1282.us.i
  %best.3.2.us.i = select i1 %.626.us.i, double %.620.us.i, double %best.2.1282.us.i
  %x.4.2.us.i = select i1 %.626.us.i, i64 %.512.us.i, i64 %x.3.1283.us.i
  %y.4.2.us.i = select i1 %.626.us.i, i64 %.567.us.i, i64 %y.3.1284.us.i
  %exitcond.not.i = icmp eq i64 %held.2.0.lcssa.i125, %.303.us.i
  br i1 %exitcond.not.i, label %B78.B44.loopexit_crit_edge.us.i, label %B80.us.i
B78.B44.loopexit_crit_edge.us.i:
  %.164.us.i = add nuw nsw i64 %.157290296.us.i, 1
  %exitcond315.not.i = icmp eq i64 %.164.us.i, %held.2.0.lcssa.i181
  br i1 %exitcond315.not.i, label %B430.preheader, label %B46.endif.us.i
B520:
  %21 = icmp slt i64 %held.2.0.lcssa.i181, 1
  %sunkaddr95 = getelementptr inbounds i8, ptr %13, i64 %sunkaddr267
  %.103.i = load double, ptr %sunkaddr95, align 8, !noalias !72
  %.139.i = fdiv double %.103.i, %.704
  %sunkaddr99 = getelementptr inbounds i8, ptr %14, i64 %sunkaddr269
  %.170.i = load double, ptr %sunkaddr99, align 8, !noalias !72
  %.206.i = fdiv double %.170.i, %.740
  %.207.i = fadd double %.139.i, %.206.i
  br i1 %21, label %B520.endif, label %B110.lr.ph.i
B110.lr.ph.i:
  %.509.i = add nsw i64 %.739, 1
  %.510.i = sitofp i64 %.509.i to double
  %.632.i = add nsw i64 %.703, -1
  %.633.i = sitofp i64 %.632.i to double
  br label %B110.i
B110.i:
  %who.2.0263.i = phi i64 [ -1, %B110.lr.ph.i ], [ %who.3.1.i, %B110.i ]
  %best.2.0262.i = phi double [ %best.4.0.lcssa.i, %B110.lr.ph.i ], [ %best.3.1.i, %B110.i ]
  %.298258260.i = phi i64 [ 0, %B110.lr.ph.i ], [ %.305.i, %B110.i ]
  %.305.i = add nuw nsw i64 %.298258260.i, 1
  %22 = shl i64 %.298258260.i, 3
  %scevgep.i31 = getelementptr i8, ptr %arg.ids.4, i64 %22
  %.390.i = load i64, ptr %scevgep.i31, align 8, !noalias !72
  %.452.i = icmp slt i64 %.390.i, 0
  %.453.i = select i1 %.452.i, i64 %arg.sums.5.1, i64 0
  %.454.i = add i64 %.453.i, %.390.i
  %.475.i = getelementptr double, ptr %3, i64 %.454.i
  %.476.i = load double, ptr %.475.i, align 8, !noalias !72
  %.477.i = fadd double %.170.i, %.476.i
  %.514.i = fdiv double %.477.i, %.510.i
  %.516.i = fsub double %.514.i, %.207.i
  %.598.i = getelementptr double, ptr %4, i64 %.454.i
  %.599.i = load double, ptr %.598.i, align 8, !noalias !72
  %.600.i = fsub double %.103.i, %.599.i
  %.637.i = fdiv double %.600.i, %.633.i
  %.638.i = fadd double %.516.i, %.637.i
  %.644.i = fcmp olt double %.638.i, %best.2.0262.i
  %best.3.1.i = select i1 %.644.i, double %.638.i, double %best.2.0262.i
  %who.3.1.i = select i1 %.644.i, i64 %.390.i, i64 %who.2.0263.i
  %exitcond.not.i32 = icmp eq i64 %held.2.0.lcssa.i181, %.305.i
  br i1 %exitcond.not.i32, label %B520.endif, label %B110.i
B618:
  %best.3.2 = phi double [ %best.4.0.lcssa.i, %B430.preheader ], [ %best.2.0.lcssa.i, %B520.endif ]
  %x.3.2 = phi i64 [ %x.2.0.lcssa.i, %B430.preheader ], [ %spec.select, %B520.endif ]
  %y.3.2 = phi i64 [ %y.2.0.lcssa.i, %B430.preheader ], [ %spec.select1109, %B520.endif ]
  %.1006.1 = icmp sgt i64 %.739, %arg.k
  %.1049.1 = icmp slt i64 %.703, %arg.limit
  %or.cond183 = select i1 %.1006.1, i1 %.1049.1, i1 false
  br i1 %or.cond183, label %B520.1, label %B620
B520.1:
  %23 = icmp slt i64 %held.2.0.lcssa.i125, 1
  %sunkaddr100 = getelementptr i8, ptr %14, i64 %sunkaddr269
  %.103.i36 = load double, ptr %sunkaddr100, align 8, !noalias !75
  %.139.i41 = fdiv double %.103.i36, %.740
  %sunkaddr102 = getelementptr i8, ptr %13, i64 %sunkaddr267
  %.170.i45 = load double, ptr %sunkaddr102, align 8, !noalias !75
  %.206.i50 = fdiv double %.170.i45, %.704
  %.207.i51 = fadd double %.139.i41, %.206.i50
  br i1 %23, label %B620, label %B110.lr.ph.i53
B110.lr.ph.i53:
  %.509.i57 = add nsw i64 %.703, 1
  %.510.i58 = sitofp i64 %.509.i57 to double
  %.632.i62 = add nsw i64 %.739, -1
  %.633.i63 = sitofp i64 %.632.i62 to double
  br label %B110.i64
B110.i64:
  %who.2.0263.i65 = phi i64 [ -1, %B110.lr.ph.i53 ], [ %who.3.1.i86, %B110.i64 ]
  %best.2.0262.i66 = phi double [ %best.3.2, %B110.lr.ph.i53 ], [ %best.3.1.i85, %B110.i64 ]
  %.298258260.i67 = phi i64 [ 0, %B110.lr.ph.i53 ], [ %.305.i68, %B110.i64 ]
  %.305.i68 = add nuw nsw i64 %.298258260.i67, 1
  %24 = shl i64 %.298258260.i67, 3
  %scevgep.i69 = getelementptr i8, ptr %10, i64 %24
  %.390.i70 = load i64, ptr %scevgep.i69, align 8, !noalias !75
  %.452.i71 = icmp slt i64 %.390.i70, 0
  %.453.i72 = select i1 %.452.i71, i64 %arg.sums.5.1, i64 0
  %.454.i73 = add i64 %.453.i72, %.390.i70
  %.475.i74 = getelementptr double, ptr %4, i64 %.454.i73
  %.476.i75 = load double, ptr %.475.i74, align 8, !noalias !75
  %.477.i76 = fadd double %.170.i45, %.476.i75
  %.514.i77 = fdiv double %.477.i76, %.510.i58
  %.516.i78 = fsub double %.514.i77, %.207.i51
  %.598.i79 = getelementptr double, ptr %3, i64 %.454.i73
  %.599.i80 = load double, ptr %.598.i79, align 8, !noalias !75
  %.600.i81 = fsub double %.103.i36, %.599.i80
  %.637.i82 = fdiv double %.600.i81, %.633.i63
  %.638.i83 = fadd double %.516.i78, %.637.i82
  %.644.i84 = fcmp olt double %.638.i83, %best.2.0262.i66
  %best.3.1.i85 = select i1 %.644.i84, double %.638.i83, double %best.2.0262.i66
  %who.3.1.i86 = select i1 %.644.i84, i64 %.390.i70, i64 %who.2.0263.i65
  %exitcond.not.i87 = icmp eq i64 %held.2.0.lcssa.i125, %.305.i68
  br i1 %exitcond.not.i87, label %B520.endif.1, label %B110.i64
B520.endif.1:
  %.1129.1 = icmp sgt i64 %who.3.1.i86, -1
  br i1 %.1129.1, label %B722, label %B620
B620:
  %.1221 = icmp slt i64 %x.3.2, 0
  br i1 %.1221, label %B632, label %B664
B632:
  %.1224 = icmp slt i64 %y.3.2, 0
  br i1 %.1224, label %B644, label %B722
B644:
  store i64 %.217936981, ptr %retptr, align 8
  br label %common.ret
B664:
  %.1296 = call i32 @pramana.rework.7(ptr nonnull %.1278, ptr nonnull %excinfo.5, ptr %arg.gaps.0, ptr %arg.gaps.1, i64 %arg.gaps.2, i64 %arg.gaps.3, ptr %arg.gaps.4, i64 %arg.gaps.5.0, i64 %arg.gaps.5.1, i64 %arg.gaps.6.0, i64 %arg.gaps.6.1, i64 %arg.count, i64 %x.3.2, i64 %arg.a, i64 %arg.b, ptr %arg.labels.0, ptr %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, ptr %arg.sums.0, ptr %arg.sums.1, i64 %arg.sums.2, i64 %arg.sums.3, ptr %arg.sums.4, i64 %arg.sums.5.0, i64 %arg.sums.5.1, i64 %arg.sums.6.0, i64 %arg.sums.6.1, ptr %arg.inner.0, ptr %arg.inner.1, i64 %arg.inner.2, i64 %arg.inner.3, ptr %arg.inner.4, i64 %arg.inner.5.0, i64 %arg.inner.6.0, ptr %arg.sizes.0, ptr %arg.sizes.1, i64 %arg.sizes.2, i64 %arg.sizes.3, ptr nonnull %arg.sizes.4, i64 %arg.sizes.5.0, i64 %arg.sizes.6.0)
  switch i32 %.1296, label %B664.if.if [
    i32 -2, label %B710
    i32 0, label %B710
  ], !prof !78
B710:
  %.1322 = icmp sgt i64 %y.3.2, -1
  br i1 %.1322, label %B722, label %B768
B722:
  %y.3.2.11076 = phi i64 [ %y.3.2, %B632 ], [ %y.3.2, %B710 ], [ %who.3.1.i86, %B520.endif.1 ]
  %.1352 = call i32 @pramana.rework.7(ptr nonnull %.1334, ptr nonnull %excinfo.6, ptr %arg.gaps.0, ptr %arg.gaps.1, i64 %arg.gaps.2, i64 %arg.gaps.3, ptr %arg.gaps.4, i64 %arg.gaps.5.0, i64 %arg.gaps.5.1, i64 %arg.gaps.6.0, i64 %arg.gaps.6.1, i64 %arg.count, i64 %y.3.2.11076, i64 %arg.b, i64 %arg.a, ptr %arg.labels.0, ptr %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, ptr %arg.sums.0, ptr %arg.sums.1, i64 %arg.sums.2, i64 %arg.sums.3, ptr %arg.sums.4, i64 %arg.sums.5.0, i64 %arg.sums.5.1, i64 %arg.sums.6.0, i64 %arg.sums.6.1, ptr %arg.inner.0, ptr %arg.inner.1, i64 %arg.inner.2, i64 %arg.inner.3, ptr %arg.inner.4, i64 %arg.inner.5.0, i64 %arg.inner.6.0, ptr %arg.sizes.0, ptr %arg.sizes.1, i64 %arg.sizes.2, i64 %arg.sizes.3, ptr nonnull %arg.sizes.4, i64 %arg.sizes.5.0, i64 %arg.sizes.6.0)
  switch i32 %.1352, label %B722.if.if [
    i32 -2, label %B768
    i32 0, label %B768
  ], !prof !78
B768:
  %exitcond.not = icmp eq i64 %.224, %storemerge
  br i1 %exitcond.not, label %B772, label %B66
B772:
  store i64 -1, ptr %retptr, align 8
  br label %common.ret
B66.endif:
  %25 = icmp eq i32 %.360, 0
  br i1 %25, label %B132, label %B66.endif.if.if, !prof !0
B66.endif.thread:
  %26 = icmp eq i32 %.360, 0
  br i1 %26, label %B182.preheader, label %B66.endif.if.if, !prof !0
B66.endif.if.if:
  store ptr null, ptr %excinfo, align 8
  br label %common.ret
B182.preheader:
  %27 = icmp slt i64 %arg.count, 1
  br i1 %27, label %B300, label %B66.i.preheader
B66.i.preheader:
  br label %B66.i
B66.i:
  %held.2.0425.i = phi i64 [ %held.3.1.i, %B493.i ], [ 0, %B66.i.preheader ]
  %.187421423.i = phi i64 [ %.194.i, %B493.i ], [ 0, %B66.i.preheader ]
  %.194.i = add nuw nsw i64 %.187421423.i, 1
  %28 = getelementptr i64, ptr %arg.labels.4, i64 %.187421423.i
  %.252.i = load i64, ptr %28, align 8, !noalias !79
  %.254.not.i = icmp eq i64 %.252.i, %arg.a
  br i1 %.254.not.i, label %B94.i, label %B493.i
B94.i:
  %.315.i = getelementptr double, ptr %3, i64 %.187421423.i
  %.316.i = load double, ptr %.315.i, align 8, !noalias !79
  %sunkaddr103 = getelementptr i8, ptr %2, i64 %sunkaddr.i
  %.347.i = load i64, ptr %sunkaddr103, align 8, !noalias !79
  %.348.i = sitofp i64 %.347.i to double
  %.352.i = fdiv double %.316.i, %.348.i
  %.403.i = getelementptr double, ptr %4, i64 %.187421423.i
  %.404.i = load double, ptr %.403.i, align 8, !noalias !79
  %sunkaddr104 = getelementptr i8, ptr %1, i64 %sunkaddr10.i
  %.435.i = load i64, ptr %sunkaddr104, align 8, !noalias !79
  %.436.i = sitofp i64 %.435.i to double
  %.440.i = fdiv double %.404.i, %.436.i
  %.441.i = fsub double %.352.i, %.440.i
  %.447.i = icmp eq i64 %held.2.0425.i, %arg.ids.5.1
  br i1 %.447.i, label %B184.i, label %B220.i
B184.i:
  %sunkaddr105 = getelementptr inbounds i8, ptr %6, i64 %sunkaddr12.i
  %.501.i = load double, ptr %sunkaddr105, align 8, !noalias !79
  %.503.i = fcmp ult double %.441.i, %.501.i
  br i1 %.503.i, label %B220.i, label %B493.i
B220.i:
  %spec.select.i = tail call i64 @llvm.smin.i64(i64 %held.2.0425.i, i64 %.525.i)
  %.540.i = icmp sgt i64 %spec.select.i, 0
  br i1 %.540.i, label %B258.i, label %B422.i
B258.i:
  %29 = getelementptr double, ptr %arg.lies.4, i64 %spec.select.i
  %.602.i = getelementptr i8, ptr %29, i64 -8
  %.603.i = load double, ptr %.602.i, align 8, !noalias !79
  %.605.i = fcmp ogt double %.603.i, %.441.i
  br i1 %.605.i, label %B292.i.preheader, label %B422.i
B292.i.preheader:
  br label %B292.i
B292.i:
  %slot.2.3.i = phi i64 [ %.611.i, %B388.i ], [ %spec.select.i, %B292.i.preheader ]
  %30 = shl i64 %slot.2.3.i, 3
  %scevgep6.i = getelementptr i8, ptr %arg.lies.4, i64 %30
  %scevgep7.i = getelementptr i8, ptr %scevgep6.i, i64 -8
  %.662.i = load double, ptr %scevgep7.i, align 8, !noalias !79
  %scevgep1.i95 = getelementptr i8, ptr %arg.ids.4, i64 %30
  %scevgep2.i = getelementptr i8, ptr %scevgep1.i95, i64 -8
  %.715.i = load i64, ptr %scevgep2.i, align 8, !noalias !79
  store double %.662.i, ptr %scevgep6.i, align 8, !noalias !79
  store i64 %.715.i, ptr %scevgep1.i95, align 8, !noalias !79
  %.831.i = icmp sgt i64 %slot.2.3.i, 1
  br i1 %.831.i, label %B388.i, label %B422.i
B388.i:
  %31 = shl i64 %slot.2.3.i, 3
  %scevgep = getelementptr i8, ptr %arg.lies.4, i64 %31
  %scevgep89 = getelementptr i8, ptr %scevgep, i64 -16
  %.893.i = load double, ptr %scevgep89, align 8, !noalias !79
  %.895.i = fcmp ogt double %.893.i, %.441.i
  %.611.i = add i64 %slot.2.3.i, -1
  br i1 %.895.i, label %B292.i, label %B422.i
B422.i:
  %slot.3.2.i = phi i64 [ %spec.select.i, %B258.i ], [ %spec.select.i, %B220.i ], [ 0, %B292.i ], [ %.611.i, %B388.i ]
  %.936.i = icmp slt i64 %slot.3.2.i, 0
  %.937.i = select i1 %.936.i, i64 %arg.lies.5.1, i64 0
  %32 = getelementptr double, ptr %arg.lies.4, i64 %slot.3.2.i
  %.959.i = getelementptr double, ptr %32, i64 %.937.i
  store double %.441.i, ptr %.959.i, align 8, !noalias !79
  %.994.i = select i1 %.936.i, i64 %arg.ids.5.1, i64 0
  %33 = getelementptr i64, ptr %arg.ids.4, i64 %slot.3.2.i
  %.1016.i = getelementptr i64, ptr %33, i64 %.994.i
  store i64 %.187421423.i, ptr %.1016.i, align 8, !noalias !79
  %.1021.i = add nsw i64 %held.2.0425.i, 1
  %.11.i.i = tail call i64 @llvm.smin.i64(i64 %arg.ids.5.1, i64 %.1021.i)
  br label %B493.i
B493.i:
  %held.3.1.i = phi i64 [ %arg.ids.5.1, %B184.i ], [ %held.2.0425.i, %B66.i ], [ %.11.i.i, %B422.i ]
  %exitcond.not.i94 = icmp eq i64 %.194.i, %arg.count
  br i1 %exitcond.not.i94, label %B66.i116.preheader, label %B66.i
B66.i116.preheader:
  br label %B66.i116
B66.i116:
  %held.2.0425.i117 = phi i64 [ %held.3.1.i123, %B493.i122 ], [ 0, %B66.i116.preheader ]
  %.187421423.i118 = phi i64 [ %.194.i119, %B493.i122 ], [ 0, %B66.i116.preheader ]
  %.194.i119 = add nuw nsw i64 %.187421423.i118, 1
  %34 = getelementptr i64, ptr %arg.labels.4, i64 %.187421423.i118
  %.252.i120 = load i64, ptr %34, align 8, !noalias !82
  %.254.not.i121 = icmp eq i64 %.252.i120, %arg.b
  br i1 %.254.not.i121, label %B94.i126, label %B493.i122
B94.i126:
  %.315.i127 = getelementptr double, ptr %4, i64 %.187421423.i118
  %.316.i128 = load double, ptr %.315.i127, align 8, !noalias !82
  %sunkaddr106 = getelementptr i8, ptr %1, i64 %sunkaddr10.i
  %.347.i129 = load i64, ptr %sunkaddr106, align 8, !noalias !82
  %.348.i130 = sitofp i64 %.347.i129 to double
  %.352.i131 = fdiv double %.316.i128, %.348.i130
  %.403.i132 = getelementptr double, ptr %3, i64 %.187421423.i118
  %.404.i133 = load double, ptr %.403.i132, align 8, !noalias !82
  %sunkaddr107 = getelementptr i8, ptr %2, i64 %sunkaddr.i
  %.435.i134 = load i64, ptr %sunkaddr107, align 8, !noalias !82
  %.436.i135 = sitofp i64 %.435.i134 to double
  %.440.i136 = fdiv double %.404.i133, %.436.i135
  %.441.i137 = fsub double %.352.i131, %.440.i136
  %.447.i138 = icmp eq i64 %held.2.0425.i117, %arg.ids.5.1
  br i1 %.447.i138, label %B184.i169, label %B220.i139
B184.i169:
  %sunkaddr108 = getelementptr inbounds i8, ptr %12, i64 %sunkaddr12.i
  %.501.i170 = load double, ptr %sunkaddr108, align 8, !noalias !82
  %.503.i171 = fcmp ult double %.441.i137, %.501.i170
  br i1 %.503.i171, label %B220.i139, label %B493.i122
B220.i139:
  %spec.select.i140 = tail call i64 @llvm.smin.i64(i64 %held.2.0425.i117, i64 %.525.i)
  %.540.i141 = icmp sgt i64 %spec.select.i140, 0
  br i1 %.540.i141, label %B258.i151, label %B422.i142
B258.i151:
  %35 = getelementptr double, ptr %9, i64 %spec.select.i140
  %.602.i152 = getelementptr i8, ptr %35, i64 -8
  %.603.i153 = load double, ptr %.602.i152, align 8, !noalias !82
  %.605.i154 = fcmp ogt double %.603.i153, %.441.i137
  br i1 %.605.i154, label %B292.i155.preheader, label %B422.i142
B292.i155.preheader:
  br label %B292.i155
B292.i155:
  %slot.2.3.i156 = phi i64 [ %.611.i168, %B388.i164 ], [ %spec.select.i140, %B292.i155.preheader ]
  %36 = shl i64 %slot.2.3.i156, 3
  %scevgep6.i157 = getelementptr i8, ptr %9, i64 %36
  %scevgep7.i158 = getelementptr i8, ptr %scevgep6.i157, i64 -8
  %.662.i159 = load double, ptr %scevgep7.i158, align 8, !noalias !82
  %scevgep1.i160 = getelementptr i8, ptr %10, i64 %36
  %scevgep2.i161 = getelementptr i8, ptr %scevgep1.i160, i64 -8
  %.715.i162 = load i64, ptr %scevgep2.i161, align 8, !noalias !82
  store double %.662.i159, ptr %scevgep6.i157, align 8, !noalias !82
  store i64 %.715.i162, ptr %scevgep1.i160, align 8, !noalias !82
  %.831.i163 = icmp sgt i64 %slot.2.3.i156, 1
  br i1 %.831.i163, label %B388.i164, label %B422.i142
B388.i164:
  %37 = shl i64 %slot.2.3.i156, 3
  %scevgep91 = getelementptr i8, ptr %9, i64 %37
  %scevgep92 = getelementptr i8, ptr %scevgep91, i64 -16
  %.893.i166 = load double, ptr %scevgep92, align 8, !noalias !82
  %.895.i167 = fcmp ogt double %.893.i166, %.441.i137
  %.611.i168 = add i64 %slot.2.3.i156, -1
  br i1 %.895.i167, label %B292.i155, label %B422.i142
B422.i142:
  %slot.3.2.i143 = phi i64 [ %spec.select.i140, %B258.i151 ], [ %spec.select.i140, %B220.i139 ], [ 0, %B292.i155 ], [ %.611.i168, %B388.i164 ]
  %.936.i144 = icmp slt i64 %slot.3.2.i143, 0
  %.937.i145 = select i1 %.936.i144, i64 %arg.lies.5.1, i64 0
  %38 = getelementptr double, ptr %9, i64 %slot.3.2.i143
  %.959.i146 = getelementptr double, ptr %38, i64 %.937.i145
  store double %.441.i137, ptr %.959.i146, align 8, !noalias !82
  %.994.i147 = select i1 %.936.i144, i64 %arg.ids.5.1, i64 0
  %39 = getelementptr i64, ptr %10, i64 %slot.3.2.i143
  %.1016.i148 = getelementptr i64, ptr %39, i64 %.994.i147
  store i64 %.187421423.i118, ptr %.1016.i148, align 8, !noalias !82
  %.1021.i149 = add nsw i64 %held.2.0425.i117, 1
  %.11.i.i150 = tail call i64 @llvm.smin.i64(i64 %arg.ids.5.1, i64 %.1021.i149)
  br label %B493.i122
B493.i122:
  %held.3.1.i123 = phi i64 [ %arg.ids.5.1, %B184.i169 ], [ %held.2.0425.i117, %B66.i116 ], [ %.11.i.i150, %B422.i142 ]
  %exitcond.not.i124 = icmp eq i64 %.194.i119, %arg.count
  br i1 %exitcond.not.i124, label %B300, label %B66.i116
B430.preheader:
  %best.4.0.lcssa.i = phi double [ %.748, %B300 ], [ %best.3.2.us.i, %B78.B44.loopexit_crit_edge.us.i ]
  %x.2.0.lcssa.i = phi i64 [ -1, %B300 ], [ %x.4.2.us.i, %B78.B44.loopexit_crit_edge.us.i ]
  %y.2.0.lcssa.i = phi i64 [ -1, %B300 ], [ %y.4.2.us.i, %B78.B44.loopexit_crit_edge.us.i ]
  %.1006 = icmp sgt i64 %.703, %arg.k
  %.1049 = icmp slt i64 %.739, %arg.limit
  %or.cond = select i1 %.1006, i1 %.1049, i1 false
  br i1 %or.cond, label %B520, label %B618
B520.endif:
  %best.2.0.lcssa.i = phi double [ %best.4.0.lcssa.i, %B520 ], [ %best.3.1.i, %B110.i ]
  %who.2.0.lcssa.i = phi i64 [ -1, %B520 ], [ %who.3.1.i, %B110.i ]
  %.1129 = icmp sgt i64 %who.2.0.lcssa.i, -1
  %spec.select = select i1 %.1129, i64 %who.2.0.lcssa.i, i64 %x.2.0.lcssa.i
  %spec.select1109 = select i1 %.1129, i64 -1, i64 %y.2.0.lcssa.i
  br label %B618
B664.if.if:
  store ptr null, ptr %excinfo, align 8
  br label %common.ret
B722.if.if:
  store ptr null, ptr %excinfo, align 8
  br label %common.ret
}
define linkonce_odr noundef range(i32 -1, -2) i32 @pramana.rework.6(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, ptr readnone captures(none) %arg.gaps.0, ptr readnone captures(none) %arg.gaps.1, i64 %arg.gaps.2, i64 %arg.gaps.3, ptr readonly captures(none) %arg.gaps.4, i64 %arg.gaps.5.0, i64 %arg.gaps.5.1, i64 %arg.gaps.6.0, i64 %arg.gaps.6.1, ptr readnone captures(none) %arg.labels.0, ptr readnone captures(none) %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr readonly captures(none) %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, i64 %arg.count, i64 %arg.a, i64 %arg.b, ptr readnone captures(none) %arg.sums.0, ptr readnone captures(none) %arg.sums.1, i64 %arg.sums.2, i64 %arg.sums.3, ptr readonly captures(none) %arg.sums.4, i64 %arg.sums.5.0, i64 %arg.sums.5.1, i64 %arg.sums.6.0, i64 %arg.sums.6.1, ptr readnone captures(none) %arg.inner.0, ptr readnone captures(none) %arg.inner.1, i64 %arg.inner.2, i64 %arg.inner.3, ptr readonly captures(none) %arg.inner.4, i64 %arg.inner.5.0, i64 %arg.inner.6.0, ptr readnone captures(none) %arg.sizes.0, ptr readnone captures(none) %arg.sizes.1, i64 %arg.sizes.2, i64 %arg.sizes.3, ptr readonly captures(none) %arg.sizes.4, i64 %arg.sizes.5.0, i64 %arg.sizes.6.0, i64 %arg.k, i64 %arg.limit, double %arg.tolerance, ptr readnone captures(none) %arg.ids.0, ptr readnone captures(none) %arg.ids.1, i64 %arg.ids.2, i64 %arg.ids.3, ptr captures(none) %arg.ids.4, i64 %arg.ids.5.0, i64 %arg.ids.5.1, i64 %arg.ids.6.0, i64 %arg.ids.6.1, ptr readnone captures(none) %arg.lies.0, ptr readnone captures(none) %arg.lies.1, i64 %arg.lies.2, i64 %arg.lies.3, ptr captures(none) %arg.lies.4, i64 %arg.lies.5.0, i64 %arg.lies.5.1, i64 %arg.lies.6.0, i64 %arg.lies.6.1) local_unnamed_addr #0 {
B0.endif:
  %.129 = icmp slt i64 %arg.a, 0
  %.130 = select i1 %.129, i64 %arg.sizes.5.0, i64 0
  %0 = getelementptr i64, ptr %arg.sizes.4, i64 %arg.a
  %.144 = getelementptr i64, ptr %0, i64 %.130
  %.145 = load i64, ptr %.144, align 8
  %.160 = icmp slt i64 %arg.b, 0
  %.161 = select i1 %.160, i64 %arg.sizes.5.0, i64 0
  %1 = getelementptr i64, ptr %arg.sizes.4, i64 %arg.b
  %.175 = getelementptr i64, ptr %1, i64 %.161
  %.176 = load i64, ptr %.175, align 8
  %.11.i = tail call i64 @llvm.smax.i64(i64 %.176, i64 %.145)
  %.220 = icmp sgt i64 %.11.i, %arg.ids.5.1
  br i1 %.220, label %common.ret, label %B94.endif
common.ret:
  %storemerge = phi i8 [ 0, %B0.endif ], [ 0, %B876 ], [ 1, %B762.1 ], [ 0, %B670.endif.endif ], [ 1, %B810.1 ], [ %47, %B810.endif.1.loopexit ]
  store i8 %storemerge, ptr %retptr, align 1
  ret i32 0
B136:
  %kept.2.0991 = phi i64 [ 0, %B136.lr.ph ], [ %kept.3.1, %B879 ]
  %held.2.0990 = phi i64 [ 0, %B136.lr.ph ], [ %held.3.1, %B879 ]
  %.349986988 = phi i64 [ 0, %B136.lr.ph ], [ %.356, %B879 ]
  %.356 = add nuw nsw i64 %.349986988, 1
  %2 = shl i64 %.349986988, 3
  %scevgep102 = getelementptr i8, ptr %arg.labels.4, i64 %2
  %.414 = load i64, ptr %scevgep102, align 8
  %.416 = icmp eq i64 %.414, %arg.a
  br i1 %.416, label %B162, label %B278
B162:
  %3 = shl i64 %.349986988, 3
  %scevgep14 = getelementptr i8, ptr %51, i64 %3
  %.475 = load double, ptr %scevgep14, align 8
  %sunkaddr = mul i64 %.161, 8
  %sunkaddr17 = getelementptr i8, ptr %1, i64 %sunkaddr
  %.506 = load i64, ptr %sunkaddr17, align 8
  %.507 = sitofp i64 %.506 to double
  %.511 = fdiv double %.475, %.507
  %4 = shl i64 %.349986988, 3
  %scevgep16 = getelementptr i8, ptr %50, i64 %4
  %.563 = load double, ptr %scevgep16, align 8
  %sunkaddr18 = mul i64 %.130, 8
  %sunkaddr19 = getelementptr i8, ptr %0, i64 %sunkaddr18
  %.594 = load i64, ptr %sunkaddr19, align 8
  %.595 = sitofp i64 %.594 to double
  %.599 = fdiv double %.563, %.595
  %.600 = fsub double %.511, %.599
  %.632 = icmp slt i64 %held.2.0990, 0
  %.633 = select i1 %.632, i64 %arg.ids.5.1, i64 0
  %5 = getelementptr i64, ptr %arg.ids.4, i64 %held.2.0990
  %.655 = getelementptr i64, ptr %5, i64 %.633
  store i64 %.349986988, ptr %.655, align 8
  %.690 = select i1 %.632, i64 %arg.lies.5.1, i64 0
  %6 = getelementptr double, ptr %arg.lies.4, i64 %held.2.0990
  %.712 = getelementptr double, ptr %6, i64 %.690
  store double %.600, ptr %.712, align 8
  %.715 = add nsw i64 %held.2.0990, 1
  br label %B879
B278:
  %.758 = icmp eq i64 %.414, %arg.b
  br i1 %.758, label %B302, label %B879
B302:
  %7 = shl i64 %.349986988, 3
  %scevgep15 = getelementptr i8, ptr %50, i64 %7
  %.811 = load double, ptr %scevgep15, align 8
  %sunkaddr20 = mul i64 %.130, 8
  %sunkaddr21 = getelementptr i8, ptr %0, i64 %sunkaddr20
  %.842 = load i64, ptr %sunkaddr21, align 8
  %.843 = sitofp i64 %.842 to double
  %.847 = fdiv double %.811, %.843
  %8 = shl i64 %.349986988, 3
  %scevgep13 = getelementptr i8, ptr %51, i64 %8
  %.899 = load double, ptr %scevgep13, align 8
  %sunkaddr22 = mul i64 %.161, 8
  %sunkaddr23 = getelementptr i8, ptr %1, i64 %sunkaddr22
  %.930 = load i64, ptr %sunkaddr23, align 8
  %.931 = sitofp i64 %.930 to double
  %.935 = fdiv double %.899, %.931
  %.936 = fsub double %.847, %.935
  %.968 = icmp slt i64 %kept.2.0991, 0
  %.969 = select i1 %.968, i64 %arg.ids.5.1, i64 0
  %9 = getelementptr i64, ptr %52, i64 %kept.2.0991
  %.991 = getelementptr i64, ptr %9, i64 %.969
  store i64 %.349986988, ptr %.991, align 8
  %.1026 = select i1 %.968, i64 %arg.lies.5.1, i64 0
  %10 = getelementptr double, ptr %53, i64 %kept.2.0991
  %.1048 = getelementptr double, ptr %10, i64 %.1026
  store double %.936, ptr %.1048, align 8
  %.1051 = add nsw i64 %kept.2.0991, 1
  br label %B879
B418:
  %sunkaddr24 = mul i64 %.130, 8
  %sunkaddr25 = getelementptr i8, ptr %0, i64 %sunkaddr24
  %.1108.pre = load i64, ptr %sunkaddr25, align 8
  %sunkaddr26 = mul i64 %.161, 8
  %sunkaddr27 = getelementptr i8, ptr %1, i64 %sunkaddr26
  %.1144.pre = load i64, ptr %sunkaddr27, align 8
  %.1109 = sitofp i64 %.1108.pre to double
  %.1113 = fdiv double 1.000000e+00, %.1109
  %.1145 = sitofp i64 %.1144.pre to double
  %.1149 = fdiv double 1.000000e+00, %.1145
  %.1150 = fadd double %.1113, %.1149
  %.12371010.not = icmp slt i64 %held.3.1, 1
  br i1 %.12371010.not, label %B670.endif.endif, label %B500.endif.lr.ph
B500.endif.lr.ph:
  %.1364997.not = icmp slt i64 %kept.3.1, 1
  br i1 %.1364997.not, label %B670.endif.endif, label %B500.endif.us.preheader
B500.endif.us.preheader:
  %unroll_iter = and i64 %kept.3.1, 9223372036854775806
  %11 = shl i64 %arg.lies.5.1, 3
  %12 = getelementptr i8, ptr %arg.lies.4, i64 %11
  %scevgep = getelementptr i8, ptr %12, i64 8
  %13 = shl i64 %arg.ids.5.1, 3
  %14 = getelementptr i8, ptr %arg.ids.4, i64 %13
  %scevgep94 = getelementptr i8, ptr %14, i64 8
  %15 = icmp eq i64 %kept.3.1, 1
  br i1 %15, label %B500.endif.us.preheader.split.us, label %B500.endif.us.preheader2
B500.endif.us.preheader2:
  br label %B500.endif.us
B500.endif.us.preheader.split.us:
  %.1510.us.epil.us = load double, ptr %53, align 8
  %.1620.us.epil.us = load i64, ptr %52, align 8
  %.1646.us.epil.us = icmp slt i64 %.1620.us.epil.us, 0
  %.1647.us.epil.us = select i1 %.1646.us.epil.us, i64 %arg.gaps.5.1, i64 0
  %invariant.gep = getelementptr double, ptr %arg.gaps.4, i64 %.1620.us.epil.us
  %invariant.gep1 = getelementptr double, ptr %invariant.gep, i64 %.1647.us.epil.us
  br label %B500.endif.us.us
B500.endif.us.us:
  %best.4.01013.us.us = phi double [ %.11.i2.epil.us, %B500.endif.us.us ], [ 0.000000e+00, %B500.endif.us.preheader.split.us ]
  %.124310051011.us.us = phi i64 [ %.1250.us.us, %B500.endif.us.us ], [ 0, %B500.endif.us.preheader.split.us ]
  %16 = shl i64 %.124310051011.us.us, 3
  %scevgep10 = getelementptr i8, ptr %arg.lies.4, i64 %16
  %scevgep9 = getelementptr i8, ptr %arg.ids.4, i64 %16
  %.1456.us.us = load double, ptr %scevgep10, align 8
  %.1566.us.us = load i64, ptr %scevgep9, align 8
  %.1643.us.us = icmp slt i64 %.1566.us.us, 0
  %.1644.us.us = select i1 %.1643.us.us, i64 %arg.gaps.5.0, i64 0
  %.1645.us.us = add i64 %.1644.us.us, %.1566.us.us
  %.1665.us.us = mul i64 %.1645.us.us, %arg.gaps.5.1
  %.1511.us.epil.us = fadd double %.1510.us.epil.us, %.1456.us.us
  %gep2 = getelementptr double, ptr %invariant.gep1, i64 %.1665.us.us
  %.1670.us.epil.us = load double, ptr %gep2, align 8
  %.1672.us.epil.us = fmul double %.1150, %.1670.us.epil.us
  %.1673.us.epil.us = fsub double %.1511.us.epil.us, %.1672.us.epil.us
  %.10.i.epil.us = fcmp olt double %.1673.us.epil.us, %best.4.01013.us.us
  %.11.i2.epil.us = select i1 %.10.i.epil.us, double %.1673.us.epil.us, double %best.4.01013.us.us
  %.1250.us.us = add nuw nsw i64 %.124310051011.us.us, 1
  %exitcond1039.not.us = icmp eq i64 %held.3.1, %.1250.us.us
  br i1 %exitcond1039.not.us, label %B670.endif.endif, label %B500.endif.us.us
B500.endif.us:
  %best.4.01013.us = phi double [ %.11.i2.lcssa, %B532.B498.loopexit_crit_edge.us ], [ 0.000000e+00, %B500.endif.us.preheader2 ]
  %.124310051011.us = phi i64 [ %.1250.us, %B532.B498.loopexit_crit_edge.us ], [ 0, %B500.endif.us.preheader2 ]
  %17 = getelementptr double, ptr %arg.lies.4, i64 %.124310051011.us
  %18 = getelementptr i64, ptr %arg.ids.4, i64 %.124310051011.us
  %.1456.us = load double, ptr %17, align 8
  %.1566.us = load i64, ptr %18, align 8
  %.1643.us = icmp slt i64 %.1566.us, 0
  %.1644.us = select i1 %.1643.us, i64 %arg.gaps.5.0, i64 0
  %.1645.us = add i64 %.1644.us, %.1566.us
  %.1665.us = mul i64 %.1645.us, %arg.gaps.5.1
  %19 = getelementptr double, ptr %arg.gaps.4, i64 %.1665.us
  br label %B532.backedge.us
B532.backedge.us:
  %best.3.11000.us = phi double [ %.11.i2.1, %B532.backedge.us ], [ %best.4.01013.us, %B500.endif.us ]
  %.1370996998.us = phi i64 [ %.1377.us.1, %B532.backedge.us ], [ 0, %B500.endif.us ]
  %20 = shl i64 %.1370996998.us, 3
  %scevgep92 = getelementptr i8, ptr %scevgep, i64 %20
  %scevgep93 = getelementptr i8, ptr %scevgep92, i64 -8
  %.1510.us = load double, ptr %scevgep93, align 8
  %.1511.us = fadd double %.1456.us, %.1510.us
  %scevgep96 = getelementptr i8, ptr %scevgep94, i64 %20
  %21 = shl i64 %.1370996998.us, 3
  %scevgep11 = getelementptr i8, ptr %scevgep94, i64 %21
  %scevgep12 = getelementptr i8, ptr %scevgep11, i64 -8
  %.1620.us = load i64, ptr %scevgep12, align 8
  %.1646.us = icmp slt i64 %.1620.us, 0
  %.1647.us = select i1 %.1646.us, i64 %arg.gaps.5.1, i64 0
  %22 = getelementptr double, ptr %19, i64 %.1620.us
  %.1669.us = getelementptr double, ptr %22, i64 %.1647.us
  %.1670.us = load double, ptr %.1669.us, align 8
  %.1672.us = fmul double %.1150, %.1670.us
  %.1673.us = fsub double %.1511.us, %.1672.us
  %.10.i = fcmp olt double %.1673.us, %best.3.11000.us
  %.11.i2 = select i1 %.10.i, double %.1673.us, double %best.3.11000.us
  %.1510.us.1 = load double, ptr %scevgep92, align 8
  %.1511.us.1 = fadd double %.1456.us, %.1510.us.1
  %.1620.us.1 = load i64, ptr %scevgep96, align 8
  %.1646.us.1 = icmp slt i64 %.1620.us.1, 0
  %.1647.us.1 = select i1 %.1646.us.1, i64 %arg.gaps.5.1, i64 0
  %23 = getelementptr double, ptr %19, i64 %.1620.us.1
  %.1669.us.1 = getelementptr double, ptr %23, i64 %.1647.us.1
  %.1670.us.1 = load double, ptr %.1669.us.1, align 8
  %.1672.us.1 = fmul double %.1150, %.1670.us.1
  %.1673.us.1 = fsub double %.1511.us.1, %.1672.us.1
  %.10.i.1 = fcmp olt double %.1673.us.1, %.11.i2
  %.11.i2.1 = select i1 %.10.i.1, double %.1673.us.1, double %.11.i2
  %.1377.us.1 = add nuw i64 %.1370996998.us, 2
  %niter.ncmp.1 = icmp eq i64 %unroll_iter, %.1377.us.1
  br i1 %niter.ncmp.1, label %B532.B498.loopexit_crit_edge.us.unr-lcssa, label %B532.backedge.us
B532.B498.loopexit_crit_edge.us.unr-lcssa:
  %24 = and i64 %kept.3.1, 1
  %25 = icmp eq i64 %24, 0
  br i1 %25, label %B532.B498.loopexit_crit_edge.us, label %B532.backedge.us.epil.preheader
B532.backedge.us.epil.preheader:
  %sunkaddr28 = mul i64 %unroll_iter, 8
  %sunkaddr29 = getelementptr i8, ptr %53, i64 %sunkaddr28
  %.1510.us.epil = load double, ptr %sunkaddr29, align 8
  %.1511.us.epil = fadd double %.1456.us, %.1510.us.epil
  %sunkaddr30 = mul i64 %unroll_iter, 8
  %sunkaddr31 = getelementptr i8, ptr %52, i64 %sunkaddr30
  %.1620.us.epil = load i64, ptr %sunkaddr31, align 8
  %.1646.us.epil = icmp slt i64 %.1620.us.epil, 0
  %.1647.us.epil = select i1 %.1646.us.epil, i64 %arg.gaps.5.1, i64 0
  %26 = getelementptr double, ptr %19, i64 %.1620.us.epil
  %.1669.us.epil = getelementptr double, ptr %26, i64 %.1647.us.epil
  %.1670.us.epil = load double, ptr %.1669.us.epil, align 8
  %.1672.us.epil = fmul double %.1150, %.1670.us.epil
  %.1673.us.epil = fsub double %.1511.us.epil, %.1672.us.epil
  %.10.i.epil = fcmp olt double %.1673.us.epil, %.11.i2.1
  %.11.i2.epil = select i1 %.10.i.epil, double %.1673.us.epil, double %.11.i2.1
  br label %B532.B498.loopexit_crit_edge.us
B532.B498.loopexit_crit_edge.us:
  %.11.i2.lcssa = phi double [ %.11.i2.1, %B532.B498.loopexit_crit_edge.us.unr-lcssa ], [ %.11.i2.epil, %B532.backedge.us.epil.preheader ]
  %.1250.us = add nuw nsw i64 %.124310051011.us, 1
  %exitcond1039.not = icmp eq i64 %.1250.us, %held.3.1
  br i1 %exitcond1039.not, label %B670.endif.endif, label %B500.endif.us
B762:
  %.1935 = icmp sgt i64 %.110882, %arg.k
  %.1974 = icmp slt i64 %.114481, %arg.limit
  %or.cond = select i1 %.1935, i1 %.1974, i1 false
  br i1 %or.cond, label %B810, label %B762.1
B810:
  %27 = icmp slt i64 %arg.b, 0
  %28 = icmp slt i64 %arg.a, 0
  %.88.i = select i1 %28, i64 %arg.inner.5.0, i64 0
  %29 = getelementptr double, ptr %arg.inner.4, i64 %arg.a
  %.102.i = getelementptr double, ptr %29, i64 %.88.i
  %.103.i = load double, ptr %.102.i, align 8, !noalias !85
  %.139.i = fdiv double %.103.i, %.110985
  %.155.i = select i1 %27, i64 %arg.inner.5.0, i64 0
  %30 = getelementptr double, ptr %arg.inner.4, i64 %arg.b
  %.169.i = getelementptr double, ptr %30, i64 %.155.i
  %.170.i = load double, ptr %.169.i, align 8, !noalias !85
  %.206.i = fdiv double %.170.i, %.114586
  %.207.i = fadd double %.139.i, %.206.i
  br i1 %.12371010.not87, label %B762.1, label %B110.lr.ph.i
B110.lr.ph.i:
  %31 = icmp slt i64 %arg.b, 0
  %32 = icmp slt i64 %arg.a, 0
  %.450.i = select i1 %31, i64 %arg.sums.5.0, i64 0
  %.451.i = add i64 %.450.i, %arg.b
  %.471.i = mul i64 %.451.i, %arg.sums.5.1
  %33 = getelementptr double, ptr %arg.sums.4, i64 %.471.i
  %.509.i = add nsw i64 %.114481, 1
  %.510.i = sitofp i64 %.509.i to double
  %.573.i = select i1 %32, i64 %arg.sums.5.0, i64 0
  %.574.i = add i64 %.573.i, %arg.a
  %.594.i = mul i64 %.574.i, %arg.sums.5.1
  %34 = getelementptr double, ptr %arg.sums.4, i64 %.594.i
  %.632.i = add nsw i64 %.110882, -1
  %.633.i = sitofp i64 %.632.i to double
  br label %B110.i
B110.i:
  %who.2.0263.i = phi i64 [ -1, %B110.lr.ph.i ], [ %who.3.1.i, %B110.i ]
  %best.2.0262.i = phi double [ %.1729, %B110.lr.ph.i ], [ %best.3.1.i, %B110.i ]
  %.298258260.i = phi i64 [ 0, %B110.lr.ph.i ], [ %.305.i, %B110.i ]
  %.305.i = add nuw nsw i64 %.298258260.i, 1
  %35 = shl i64 %.298258260.i, 3
  %scevgep.i = getelementptr i8, ptr %arg.ids.4, i64 %35
  %.390.i = load i64, ptr %scevgep.i, align 8, !noalias !85
  %.452.i = icmp slt i64 %.390.i, 0
  %.453.i = select i1 %.452.i, i64 %arg.sums.5.1, i64 0
  %.454.i = add i64 %.453.i, %.390.i
  %.475.i = getelementptr double, ptr %33, i64 %.454.i
  %.476.i = load double, ptr %.475.i, align 8, !noalias !85
  %.477.i = fadd double %.170.i, %.476.i
  %.514.i = fdiv double %.477.i, %.510.i
  %.516.i = fsub double %.514.i, %.207.i
  %.598.i = getelementptr double, ptr %34, i64 %.454.i
  %.599.i = load double, ptr %.598.i, align 8, !noalias !85
  %.600.i = fsub double %.103.i, %.599.i
  %.637.i = fdiv double %.600.i, %.633.i
  %.638.i = fadd double %.516.i, %.637.i
  %.644.i = fcmp olt double %.638.i, %best.2.0262.i
  %best.3.1.i = select i1 %.644.i, double %.638.i, double %best.2.0262.i
  %who.3.1.i = select i1 %.644.i, i64 %.390.i, i64 %who.2.0263.i
  %exitcond.not.i = icmp eq i64 %held.2.0.lcssa83, %.305.i
  br i1 %exitcond.not.i, label %B876, label %B110.i
B876:
  %.2035 = icmp sgt i64 %who.3.1.i, -1
  br i1 %.2035, label %common.ret, label %B762.1
B762.1:
  %.1935.1 = icmp sgt i64 %.114481, %arg.k
  %.1974.1 = icmp slt i64 %.110882, %arg.limit
  %or.cond68 = select i1 %.1935.1, i1 %.1974.1, i1 false
  br i1 %or.cond68, label %B810.1, label %common.ret
B810.1:
  %36 = icmp slt i64 %arg.b, 0
  %37 = icmp slt i64 %arg.a, 0
  %.88.i4 = select i1 %36, i64 %arg.inner.5.0, i64 0
  %38 = getelementptr double, ptr %arg.inner.4, i64 %arg.b
  %.102.i5 = getelementptr double, ptr %38, i64 %.88.i4
  %.103.i6 = load double, ptr %.102.i5, align 8, !noalias !88
  %.139.i11 = fdiv double %.103.i6, %.114586
  %.155.i13 = select i1 %37, i64 %arg.inner.5.0, i64 0
  %39 = getelementptr double, ptr %arg.inner.4, i64 %arg.a
  %.169.i14 = getelementptr double, ptr %39, i64 %.155.i13
  %.170.i15 = load double, ptr %.169.i14, align 8, !noalias !88
  %.206.i20 = fdiv double %.170.i15, %.110985
  %.207.i21 = fadd double %.139.i11, %.206.i20
  %.292259.not.i22 = icmp slt i64 %kept.2.0.lcssa84, 1
  br i1 %.292259.not.i22, label %common.ret, label %B110.lr.ph.i23
B110.lr.ph.i23:
  %40 = icmp slt i64 %arg.b, 0
  %41 = icmp slt i64 %arg.a, 0
  %42 = getelementptr i64, ptr %arg.ids.4, i64 %arg.ids.5.1
  %.450.i24 = select i1 %41, i64 %arg.sums.5.0, i64 0
  %.451.i25 = add i64 %.450.i24, %arg.a
  %.471.i26 = mul i64 %.451.i25, %arg.sums.5.1
  %43 = getelementptr double, ptr %arg.sums.4, i64 %.471.i26
  %.509.i27 = add nsw i64 %.110882, 1
  %.510.i28 = sitofp i64 %.509.i27 to double
  %.573.i29 = select i1 %40, i64 %arg.sums.5.0, i64 0
  %.574.i30 = add i64 %.573.i29, %arg.b
  %.594.i31 = mul i64 %.574.i30, %arg.sums.5.1
  %44 = getelementptr double, ptr %arg.sums.4, i64 %.594.i31
  %.632.i32 = add nsw i64 %.114481, -1
  %.633.i33 = sitofp i64 %.632.i32 to double
  br label %B110.i34
B110.i34:
  %who.2.0263.i35 = phi i64 [ -1, %B110.lr.ph.i23 ], [ %who.3.1.i56, %B110.i34 ]
  %best.2.0262.i36 = phi double [ %.1729, %B110.lr.ph.i23 ], [ %best.3.1.i55, %B110.i34 ]
  %.298258260.i37 = phi i64 [ 0, %B110.lr.ph.i23 ], [ %.305.i38, %B110.i34 ]
  %.305.i38 = add nuw nsw i64 %.298258260.i37, 1
  %45 = shl i64 %.298258260.i37, 3
  %scevgep.i39 = getelementptr i8, ptr %42, i64 %45
  %.390.i40 = load i64, ptr %scevgep.i39, align 8, !noalias !88
  %.452.i41 = icmp slt i64 %.390.i40, 0
  %.453.i42 = select i1 %.452.i41, i64 %arg.sums.5.1, i64 0
  %.454.i43 = add i64 %.453.i42, %.390.i40
  %.475.i44 = getelementptr double, ptr %43, i64 %.454.i43
  %.476.i45 = load double, ptr %.475.i44, align 8, !noalias !88
  %.477.i46 = fadd double %.170.i15, %.476.i45
  %.514.i47 = fdiv double %.477.i46, %.510.i28
  %.516.i48 = fsub double %.514.i47, %.207.i21
  %.598.i49 = getelementptr double, ptr %44, i64 %.454.i43
  %.599.i50 = load double, ptr %.598.i49, align 8, !noalias !88
  %.600.i51 = fsub double %.103.i6, %.599.i50
  %.637.i52 = fdiv double %.600.i51, %.633.i33
  %.638.i53 = fadd double %.516.i48, %.637.i52
  %.644.i54 = fcmp olt double %.638.i53, %best.2.0262.i36
  %best.3.1.i55 = select i1 %.644.i54, double %.638.i53, double %best.2.0262.i36
  %who.3.1.i56 = select i1 %.644.i54, i64 %.390.i40, i64 %who.2.0263.i35
  %exitcond.not.i57 = icmp eq i64 %kept.2.0.lcssa84, %.305.i38
  br i1 %exitcond.not.i57, label %B810.endif.1.loopexit, label %B110.i34
B810.endif.1.loopexit:
  %46 = lshr i64 %who.3.1.i56, 63
  %47 = trunc nuw nsw i64 %46 to i8
  br label %common.ret
B879:
  %kept.3.1 = phi i64 [ %kept.2.0991, %B162 ], [ %.1051, %B302 ], [ %kept.2.0991, %B278 ]
  %held.3.1 = phi i64 [ %.715, %B162 ], [ %held.2.0990, %B302 ], [ %held.2.0990, %B278 ]
  %exitcond.not = icmp eq i64 %arg.count, %.356
  br i1 %exitcond.not, label %B418, label %B136
B94.endif:
  %.343987.not = icmp slt i64 %arg.count, 1
  br i1 %.343987.not, label %B418.thread, label %B136.lr.ph
B418.thread:
  %.110975 = sitofp i64 %.145 to double
  %.114577 = sitofp i64 %.176 to double
  br label %B670.endif.endif
B136.lr.ph:
  %48 = icmp slt i64 %arg.b, 0
  %49 = icmp slt i64 %arg.a, 0
  %.785 = select i1 %49, i64 %arg.sums.5.0, i64 0
  %.786 = add i64 %.785, %arg.a
  %.806 = mul i64 %.786, %arg.sums.5.1
  %50 = getelementptr double, ptr %arg.sums.4, i64 %.806
  %.873 = select i1 %48, i64 %arg.sums.5.0, i64 0
  %.874 = add i64 %.873, %arg.b
  %.894 = mul i64 %.874, %arg.sums.5.1
  %51 = getelementptr double, ptr %arg.sums.4, i64 %.894
  %52 = getelementptr i64, ptr %arg.ids.4, i64 %arg.ids.5.1
  %53 = getelementptr double, ptr %arg.lies.4, i64 %arg.lies.5.1
  br label %B136
B670.endif.endif:
  %.12371010.not87 = phi i1 [ true, %B418 ], [ false, %B500.endif.lr.ph ], [ true, %B418.thread ], [ false, %B500.endif.us.us ], [ false, %B532.B498.loopexit_crit_edge.us ]
  %.114586 = phi double [ %.1145, %B418 ], [ %.1145, %B500.endif.lr.ph ], [ %.114577, %B418.thread ], [ %.1145, %B500.endif.us.us ], [ %.1145, %B532.B498.loopexit_crit_edge.us ]
  %.110985 = phi double [ %.1109, %B418 ], [ %.1109, %B500.endif.lr.ph ], [ %.110975, %B418.thread ], [ %.1109, %B500.endif.us.us ], [ %.1109, %B532.B498.loopexit_crit_edge.us ]
  %kept.2.0.lcssa84 = phi i64 [ %kept.3.1, %B418 ], [ %kept.3.1, %B500.endif.lr.ph ], [ 0, %B418.thread ], [ 1, %B500.endif.us.us ], [ %kept.3.1, %B532.B498.loopexit_crit_edge.us ]
  %held.2.0.lcssa83 = phi i64 [ %held.3.1, %B418 ], [ %held.3.1, %B500.endif.lr.ph ], [ 0, %B418.thread ], [ %held.3.1, %B500.endif.us.us ], [ %held.3.1, %B532.B498.loopexit_crit_edge.us ]
  %.110882 = phi i64 [ %.1108.pre, %B418 ], [ %.1108.pre, %B500.endif.lr.ph ], [ %.145, %B418.thread ], [ %.1108.pre, %B500.endif.us.us ], [ %.1108.pre, %B532.B498.loopexit_crit_edge.us ]
  %.114481 = phi i64 [ %.1144.pre, %B418 ], [ %.1144.pre, %B500.endif.lr.ph ], [ %.176, %B418.thread ], [ %.1144.pre, %B500.endif.us.us ], [ %.1144.pre, %B532.B498.loopexit_crit_edge.us ]
  %best.4.0.lcssa = phi double [ 0.000000e+00, %B418 ], [ 0.000000e+00, %B500.endif.lr.ph ], [ 0.000000e+00, %B418.thread ], [ %.11.i2.epil.us, %B500.endif.us.us ], [ %.11.i2.lcssa, %B532.B498.loopexit_crit_edge.us ]
  %.1729 = fneg double %arg.tolerance
  %.1731 = fcmp olt double %best.4.0.lcssa, %.1729
  br i1 %.1731, label %common.ret, label %B762
}
define linkonce_odr noundef i32 @pramana.rework.7(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, ptr readnone captures(none) %arg.gaps.0, ptr readnone captures(none) %arg.gaps.1, i64 %arg.gaps.2, i64 %arg.gaps.3, ptr readonly captures(none) %arg.gaps.4, i64 %arg.gaps.5.0, i64 %arg.gaps.5.1, i64 %arg.gaps.6.0, i64 %arg.gaps.6.1, i64 %arg.count, i64 %arg.i, i64 %arg.a, i64 %arg.b, ptr readnone captures(none) %arg.labels.0, ptr readnone captures(none) %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr writeonly captures(none) %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, ptr readnone captures(none) %arg.sums.0, ptr readnone captures(none) %arg.sums.1, i64 %arg.sums.2, i64 %arg.sums.3, ptr captures(none) %arg.sums.4, i64 %arg.sums.5.0, i64 %arg.sums.5.1, i64 %arg.sums.6.0, i64 %arg.sums.6.1, ptr readnone captures(none) %arg.inner.0, ptr readnone captures(none) %arg.inner.1, i64 %arg.inner.2, i64 %arg.inner.3, ptr captures(none) %arg.inner.4, i64 %arg.inner.5.0, i64 %arg.inner.6.0, ptr readnone captures(none) %arg.sizes.0, ptr readnone captures(none) %arg.sizes.1, i64 %arg.sizes.2, i64 %arg.sizes.3, ptr captures(none) %arg.sizes.4, i64 %arg.sizes.5.0, i64 %arg.sizes.6.0) local_unnamed_addr #0 {
B0:
  %.80 = icmp sgt i64 %arg.a, -1
  br i1 %.80, label %B16, label %B96.endif
B16:
  %.111 = getelementptr i64, ptr %arg.sizes.4, i64 %arg.a
  %.112 = load i64, ptr %.111, align 8
  %.113 = add nsw i64 %.112, -1
  store i64 %.113, ptr %.111, align 8
  %.174 = getelementptr double, ptr %arg.inner.4, i64 %arg.a
  %.175 = load double, ptr %.174, align 8
  %.203 = icmp slt i64 %arg.i, 0
  %.204 = select i1 %.203, i64 %arg.sums.5.1, i64 0
  %.222 = mul i64 %arg.sums.5.1, %arg.a
  %0 = getelementptr double, ptr %arg.sums.4, i64 %.222
  %1 = getelementptr double, ptr %0, i64 %arg.i
  %.226 = getelementptr double, ptr %1, i64 %.204
  %.227 = load double, ptr %.226, align 8
  %.228 = fsub double %.175, %.227
  store double %.228, ptr %.174, align 8
  br label %B96.endif
B218:
  %.567374376 = phi i64 [ %.574.3, %B218 ], [ %.567374376.unr, %B218.preheader46 ]
  %2 = shl i64 %.567374376, 3
  %scevgep75 = getelementptr i8, ptr %scevgep71, i64 %2
  %scevgep76 = getelementptr i8, ptr %scevgep75, i64 -24
  %.653 = load double, ptr %scevgep76, align 8
  %scevgep67 = getelementptr i8, ptr %scevgep63, i64 %2
  %scevgep68 = getelementptr i8, ptr %scevgep67, i64 -24
  %.705 = load double, ptr %scevgep68, align 8
  %.706 = fadd double %.653, %.705
  store double %.706, ptr %scevgep76, align 8
  %3 = shl i64 %.567374376, 3
  %scevgep20 = getelementptr i8, ptr %scevgep71, i64 %3
  %scevgep21 = getelementptr i8, ptr %scevgep20, i64 -16
  %.653.1 = load double, ptr %scevgep21, align 8
  %4 = shl i64 %.567374376, 3
  %scevgep16 = getelementptr i8, ptr %scevgep63, i64 %4
  %scevgep17 = getelementptr i8, ptr %scevgep16, i64 -16
  %.705.1 = load double, ptr %scevgep17, align 8
  %.706.1 = fadd double %.653.1, %.705.1
  store double %.706.1, ptr %scevgep21, align 8
  %5 = shl i64 %.567374376, 3
  %scevgep18 = getelementptr i8, ptr %scevgep71, i64 %5
  %scevgep19 = getelementptr i8, ptr %scevgep18, i64 -8
  %.653.2 = load double, ptr %scevgep19, align 8
  %6 = shl i64 %.567374376, 3
  %scevgep14 = getelementptr i8, ptr %scevgep63, i64 %6
  %scevgep15 = getelementptr i8, ptr %scevgep14, i64 -8
  %.705.2 = load double, ptr %scevgep15, align 8
  %.706.2 = fadd double %.653.2, %.705.2
  store double %.706.2, ptr %scevgep19, align 8
  %.574.3 = add nuw nsw i64 %.567374376, 4
  %.653.3 = load double, ptr %scevgep75, align 8
  %.705.3 = load double, ptr %scevgep67, align 8
  %.706.3 = fadd double %.653.3, %.705.3
  store double %.706.3, ptr %scevgep75, align 8
  %exitcond.not.3 = icmp eq i64 %arg.count, %.574.3
  br i1 %exitcond.not.3, label %B338, label %B218, !llvm.loop !91
B338:
  store ptr null, ptr %retptr, align 8
  ret i32 0
B96.endif:
  %.275 = icmp slt i64 %arg.b, 0
  %.276 = select i1 %.275, i64 %arg.sizes.5.0, i64 0
  %7 = getelementptr i64, ptr %arg.sizes.4, i64 %arg.b
  %.290 = getelementptr i64, ptr %7, i64 %.276
  %.291 = load i64, ptr %.290, align 8
  %.292 = add nsw i64 %.291, 1
  store i64 %.292, ptr %.290, align 8
  %.341 = select i1 %.275, i64 %arg.inner.5.0, i64 0
  %8 = getelementptr double, ptr %arg.inner.4, i64 %arg.b
  %.355 = getelementptr double, ptr %8, i64 %.341
  %.356 = load double, ptr %.355, align 8
  %.382 = select i1 %.275, i64 %arg.sums.5.0, i64 0
  %.383 = add i64 %.382, %arg.b
  %.384 = icmp slt i64 %arg.i, 0
  %.385 = select i1 %.384, i64 %arg.sums.5.1, i64 0
  %.403 = mul i64 %.383, %arg.sums.5.1
  %9 = getelementptr double, ptr %arg.sums.4, i64 %.403
  %10 = getelementptr double, ptr %9, i64 %arg.i
  %.407 = getelementptr double, ptr %10, i64 %.385
  %.408 = load double, ptr %.407, align 8
  %.409 = fadd double %.356, %.408
  store double %.409, ptr %.355, align 8
  %.459 = select i1 %.384, i64 %arg.labels.5.0, i64 0
  %11 = getelementptr i64, ptr %arg.labels.4, i64 %arg.i
  %.473 = getelementptr i64, ptr %11, i64 %.459
  store i64 %arg.b, ptr %.473, align 8
  %.561375.not = icmp slt i64 %arg.count, 1
  br i1 %.561375.not, label %B338, label %B218.lr.ph
B218.lr.ph:
  %12 = icmp slt i64 %arg.i, 0
  %13 = icmp sgt i64 %arg.a, -1
  %.679 = select i1 %12, i64 %arg.gaps.5.0, i64 0
  %.680 = add i64 %.679, %arg.i
  %.700 = mul i64 %.680, %arg.gaps.5.1
  %14 = getelementptr double, ptr %arg.gaps.4, i64 %.700
  %.804 = mul i64 %arg.sums.5.1, %arg.a
  %15 = getelementptr double, ptr %arg.sums.4, i64 %.804
  br i1 %13, label %B218.us.preheader, label %B218.preheader
B218.preheader:
  %min.iters.check = icmp samesign ult i64 %arg.count, 18
  br i1 %min.iters.check, label %B218.preheader40, label %vector.memcheck
vector.memcheck:
  %16 = add i64 %.403, %arg.count
  %17 = shl i64 %16, 3
  %scevgep = getelementptr i8, ptr %arg.sums.4, i64 %17
  %18 = add i64 %.700, %arg.count
  %19 = shl i64 %18, 3
  %scevgep6 = getelementptr i8, ptr %arg.gaps.4, i64 %19
  %bound0 = icmp ult ptr %9, %scevgep6
  %bound1 = icmp ult ptr %14, %scevgep
  %found.conflict = and i1 %bound0, %bound1
  br i1 %found.conflict, label %B218.preheader40, label %vector.ph
vector.ph:
  %const = bitcast i64 9223372036854775804 to i64
  %n.vec = and i64 %arg.count, %const
  %20 = shl i64 %.700, 3
  %21 = getelementptr i8, ptr %arg.gaps.4, i64 %20
  %scevgep81 = getelementptr i8, ptr %21, i64 16
  %22 = shl i64 %.403, 3
  %23 = getelementptr i8, ptr %arg.sums.4, i64 %22
  %scevgep85 = getelementptr i8, ptr %23, i64 16
  br label %vector.body
vector.body:
  %index = phi i64 [ 0, %vector.ph ], [ %index.next, %vector.body ]
  %24 = shl i64 %index, 3
  %scevgep87 = getelementptr i8, ptr %scevgep85, i64 %24
  %scevgep88 = getelementptr i8, ptr %scevgep87, i64 -16
  %wide.load = load <2 x double>, ptr %scevgep88, align 8, !alias.scope !92, !noalias !95
  %wide.load7 = load <2 x double>, ptr %scevgep87, align 8, !alias.scope !92, !noalias !95
  %scevgep83 = getelementptr i8, ptr %scevgep81, i64 %24
  %25 = shl i64 %index, 3
  %scevgep22 = getelementptr i8, ptr %scevgep81, i64 %25
  %scevgep23 = getelementptr i8, ptr %scevgep22, i64 -16
  %wide.load8 = load <2 x double>, ptr %scevgep23, align 8, !alias.scope !95
  %wide.load9 = load <2 x double>, ptr %scevgep83, align 8, !alias.scope !95
  %26 = fadd <2 x double> %wide.load, %wide.load8
  %27 = fadd <2 x double> %wide.load7, %wide.load9
  store <2 x double> %26, ptr %scevgep88, align 8, !alias.scope !92, !noalias !95
  store <2 x double> %27, ptr %scevgep87, align 8, !alias.scope !92, !noalias !95
  %index.next = add nuw nsw i64 %index, 4
  %28 = icmp eq i64 %n.vec, %index.next
  br i1 %28, label %middle.block, label %vector.body, !llvm.loop !97
middle.block:
  %cmp.n = icmp eq i64 %arg.count, %n.vec
  br i1 %cmp.n, label %B338, label %B218.preheader40
B218.preheader40:
  %.567374376.ph = phi i64 [ 0, %vector.memcheck ], [ 0, %B218.preheader ], [ %n.vec, %middle.block ]
  %xtraiter = and i64 %arg.count, 3
  %lcmp.mod.not = icmp eq i64 %xtraiter, 0
  br i1 %lcmp.mod.not, label %B218.prol.loopexit, label %B218.prol.preheader
B218.prol.preheader:
  br label %B218.prol
B218.prol:
  %lsr.iv = phi i64 [ %lsr.iv.next, %B218.prol ], [ %xtraiter, %B218.prol.preheader ]
  %.567374376.prol = phi i64 [ %.574.prol, %B218.prol ], [ %.567374376.ph, %B218.prol.preheader ]
  %.574.prol = add nuw nsw i64 %.567374376.prol, 1
  %29 = shl i64 %.567374376.prol, 3
  %scevgep80 = getelementptr i8, ptr %9, i64 %29
  %.653.prol = load double, ptr %scevgep80, align 8
  %scevgep79 = getelementptr i8, ptr %14, i64 %29
  %.705.prol = load double, ptr %scevgep79, align 8
  %.706.prol = fadd double %.653.prol, %.705.prol
  store double %.706.prol, ptr %scevgep80, align 8
  %lsr.iv.next = add nsw i64 %lsr.iv, -1
  %prol.iter.cmp.not = icmp eq i64 %lsr.iv.next, 0
  br i1 %prol.iter.cmp.not, label %B218.prol.loopexit, label %B218.prol, !llvm.loop !98
B218.prol.loopexit:
  %.567374376.unr = phi i64 [ %.567374376.ph, %B218.preheader40 ], [ %.574.prol, %B218.prol ]
  %30 = sub nsw i64 %.567374376.ph, %arg.count
  %31 = icmp ugt i64 %30, -4
  br i1 %31, label %B338, label %B218.preheader46
B218.preheader46:
  %32 = shl i64 %.700, 3
  %33 = getelementptr i8, ptr %arg.gaps.4, i64 %32
  %scevgep63 = getelementptr i8, ptr %33, i64 24
  %34 = shl i64 %.403, 3
  %35 = getelementptr i8, ptr %arg.sums.4, i64 %34
  %scevgep71 = getelementptr i8, ptr %35, i64 24
  br label %B218
B218.us.preheader:
  %min.iters.check25 = icmp samesign ult i64 %arg.count, 20
  br i1 %min.iters.check25, label %B218.us.preheader39, label %vector.memcheck10
vector.memcheck10:
  %36 = add i64 %.403, %arg.count
  %37 = shl i64 %36, 3
  %scevgep11 = getelementptr i8, ptr %arg.sums.4, i64 %37
  %38 = add i64 %.804, %arg.count
  %39 = shl i64 %38, 3
  %scevgep12 = getelementptr i8, ptr %arg.sums.4, i64 %39
  %40 = add i64 %.700, %arg.count
  %41 = shl i64 %40, 3
  %scevgep13 = getelementptr i8, ptr %arg.gaps.4, i64 %41
  %bound014 = icmp ult ptr %9, %scevgep12
  %bound115 = icmp ult ptr %15, %scevgep11
  %found.conflict16 = and i1 %bound014, %bound115
  %bound017 = icmp ult ptr %9, %scevgep13
  %bound118 = icmp ult ptr %14, %scevgep11
  %found.conflict19 = and i1 %bound017, %bound118
  %conflict.rdx = or i1 %found.conflict16, %found.conflict19
  %bound020 = icmp ult ptr %15, %scevgep13
  %bound121 = icmp ult ptr %14, %scevgep12
  %found.conflict22 = and i1 %bound020, %bound121
  %conflict.rdx23 = or i1 %found.conflict22, %conflict.rdx
  br i1 %conflict.rdx23, label %B218.us.preheader39, label %vector.ph26
vector.ph26:
  %const24 = bitcast i64 9223372036854775804 to i64
  %const_mat = add i64 %const24, 2
  %n.vec28 = and i64 %arg.count, %const_mat
  br label %vector.body29
vector.body29:
  %index30 = phi i64 [ 0, %vector.ph26 ], [ %index.next35, %vector.body29 ]
  %42 = shl i64 %index30, 3
  %scevgep62 = getelementptr i8, ptr %9, i64 %42
  %wide.load31 = load <2 x double>, ptr %scevgep62, align 8, !alias.scope !99, !noalias !102
  %scevgep61 = getelementptr i8, ptr %14, i64 %42
  %wide.load32 = load <2 x double>, ptr %scevgep61, align 8, !alias.scope !105
  %43 = fadd <2 x double> %wide.load31, %wide.load32
  store <2 x double> %43, ptr %scevgep62, align 8, !alias.scope !99, !noalias !102
  %44 = shl i64 %index30, 3
  %scevgep10 = getelementptr i8, ptr %15, i64 %44
  %wide.load33 = load <2 x double>, ptr %scevgep10, align 8, !alias.scope !106, !noalias !105
  %45 = fsub <2 x double> %wide.load33, %wide.load32
  store <2 x double> %45, ptr %scevgep10, align 8, !alias.scope !106, !noalias !105
  %index.next35 = add nuw nsw i64 %index30, 2
  %46 = icmp eq i64 %n.vec28, %index.next35
  br i1 %46, label %middle.block36, label %vector.body29, !llvm.loop !107
middle.block36:
  %cmp.n37 = icmp eq i64 %arg.count, %n.vec28
  br i1 %cmp.n37, label %B338, label %B218.us.preheader39
B218.us.preheader39:
  %.567374376.us.ph = phi i64 [ 0, %vector.memcheck10 ], [ 0, %B218.us.preheader ], [ %n.vec28, %middle.block36 ]
  %.neg = or disjoint i64 %.567374376.us.ph, 1
  %xtraiter42 = and i64 %arg.count, 1
  %lcmp.mod43.not = icmp eq i64 %xtraiter42, 0
  br i1 %lcmp.mod43.not, label %B218.us.prol.loopexit, label %B218.us.prol
B218.us.prol:
  %.652.us.prol = getelementptr double, ptr %9, i64 %.567374376.us.ph
  %.653.us.prol = load double, ptr %.652.us.prol, align 8
  %47 = getelementptr double, ptr %14, i64 %.567374376.us.ph
  %.705.us.prol = load double, ptr %47, align 8
  %.706.us.prol = fadd double %.653.us.prol, %.705.us.prol
  store double %.706.us.prol, ptr %.652.us.prol, align 8
  %.808.us.prol = getelementptr double, ptr %15, i64 %.567374376.us.ph
  %.809.us.prol = load double, ptr %.808.us.prol, align 8
  %.863.us.prol = load double, ptr %47, align 8
  %.864.us.prol = fsub double %.809.us.prol, %.863.us.prol
  store double %.864.us.prol, ptr %.808.us.prol, align 8
  br label %B218.us.prol.loopexit
B218.us.prol.loopexit:
  %.567374376.us.unr = phi i64 [ %.567374376.us.ph, %B218.us.preheader39 ], [ %.neg, %B218.us.prol ]
  %48 = icmp eq i64 %arg.count, %.neg
  br i1 %48, label %B338, label %B218.us.preheader45
B218.us.preheader45:
  %49 = shl i64 %.403, 3
  %50 = getelementptr i8, ptr %arg.sums.4, i64 %49
  %scevgep48 = getelementptr i8, ptr %50, i64 8
  %51 = shl i64 %.804, 3
  %52 = getelementptr i8, ptr %arg.sums.4, i64 %51
  %scevgep52 = getelementptr i8, ptr %52, i64 8
  %53 = shl i64 %.700, 3
  %54 = getelementptr i8, ptr %arg.gaps.4, i64 %53
  %scevgep56 = getelementptr i8, ptr %54, i64 8
  br label %B218.us
B218.us:
  %.567374376.us = phi i64 [ %.574.us.1, %B218.us ], [ %.567374376.us.unr, %B218.us.preheader45 ]
  %55 = shl i64 %.567374376.us, 3
  %scevgep49 = getelementptr i8, ptr %scevgep48, i64 %55
  %scevgep50 = getelementptr i8, ptr %scevgep49, i64 -8
  %.653.us = load double, ptr %scevgep50, align 8
  %scevgep57 = getelementptr i8, ptr %scevgep56, i64 %55
  %scevgep58 = getelementptr i8, ptr %scevgep57, i64 -8
  %.705.us = load double, ptr %scevgep58, align 8
  %.706.us = fadd double %.653.us, %.705.us
  store double %.706.us, ptr %scevgep50, align 8
  %56 = shl i64 %.567374376.us, 3
  %scevgep8 = getelementptr i8, ptr %scevgep52, i64 %56
  %scevgep9 = getelementptr i8, ptr %scevgep8, i64 -8
  %.809.us = load double, ptr %scevgep9, align 8
  %.863.us = load double, ptr %scevgep58, align 8
  %.864.us = fsub double %.809.us, %.863.us
  store double %.864.us, ptr %scevgep9, align 8
  %.574.us.1 = add nuw nsw i64 %.567374376.us, 2
  %.653.us.1 = load double, ptr %scevgep49, align 8
  %.705.us.1 = load double, ptr %scevgep57, align 8
  %.706.us.1 = fadd double %.653.us.1, %.705.us.1
  store double %.706.us.1, ptr %scevgep49, align 8
  %.809.us.1 = load double, ptr %scevgep8, align 8
  %.863.us.1 = load double, ptr %scevgep57, align 8
  %.864.us.1 = fsub double %.809.us.1, %.863.us.1
  store double %.864.us.1, ptr %scevgep8, align 8
  %exitcond381.not.1 = icmp eq i64 %arg.count, %.574.us.1
  br i1 %exitcond381.not.1, label %B338, label %B218.us, !llvm.loop !108
}
declare <2 x i64> @llvm.smax.v2i64(<2 x i64>, <2 x i64>) #3
declare i64 @llvm.vector.reduce.smax.v2i64(<2 x i64>) #4
declare void @llvm.assume(i1 noundef) #5
declare { i64, i1 } @llvm.uadd.with.overflow.i64(i64, i64) #3
attributes #0 = { nofree norecurse nosync nounwind memory(argmem: readwrite) }
attributes #1 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #2 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write) }
!0 = !{!"branch_weights", i32 49, i32 1}
!1 = distinct !{!1, !2, !3}
!2 = !{!"llvm.loop.unroll.runtime.disable"}
!3 = !{!"llvm.loop.isvectorized", i32 1}
!4 = !{!5}
!5 = distinct !{!5, !6, !"pramana.rework.8: %retptr"}
!6 = distinct !{!6, !"pramana.rework.8"}
!7 = !{!8}
!8 = distinct !{!8, !9, !"pramana.rework.9: %retptr"}
!9 = distinct !{!9, !"pramana.rework.9"}
!10 = !{!"branch_weights", i32 99, i32 1}
!11 = !{!"branch_weights", i32 1, i32 99}
!12 = !{!13}
!13 = distinct !{!13, !14, !"pramana.rework.3: %retptr"}
!14 = distinct !{!14, !"pramana.rework.3"}
!15 = !{!"branch_weights", i32 22134442, i32 1062674603, i32 1062674603}
!16 = distinct !{!16, !3, !2}
!17 = distinct !{!17, !18}
!18 = !{!"llvm.loop.unroll.disable"}
!19 = !{!20}
!20 = distinct !{!20, !21, !"pramana.rework.10: %retptr"}
!21 = distinct !{!21, !"pramana.rework.10"}
!22 = distinct !{!22, !18}
!23 = distinct !{!23, !3, !2}
!24 = distinct !{!24, !18}
!25 = distinct !{!25, !3}
!26 = distinct !{!26, !3, !2}
!27 = distinct !{!27, !18}
!28 = distinct !{!28, !18}
!29 = distinct !{!29, !3}
!30 = !{!31}
!31 = distinct !{!31, !32, !"pramana.rework.11: %retptr"}
!32 = distinct !{!32, !"pramana.rework.11"}
!33 = !{!34}
!34 = distinct !{!34, !35}
!35 = distinct !{!35, !"LVerDomain"}
!36 = !{!37, !31}
!37 = distinct !{!37, !35}
!38 = !{!37}
!39 = distinct !{!39, !3, !2}
!40 = distinct !{!40, !18}
!41 = distinct !{!41, !3}
!42 = !{!43}
!43 = distinct !{!43, !44, !"pramana.rework.11: %retptr"}
!44 = distinct !{!44, !"pramana.rework.11"}
!45 = !{!46}
!46 = distinct !{!46, !47}
!47 = distinct !{!47, !"LVerDomain"}
!48 = !{!49, !43}
!49 = distinct !{!49, !47}
!50 = !{!49}
!51 = distinct !{!51, !3, !2}
!52 = distinct !{!52, !18}
!53 = distinct !{!53, !3}
!54 = distinct !{!54, !3}
!55 = !{!56}
!56 = distinct !{!56, !57}
!57 = distinct !{!57, !"LVerDomain"}
!58 = !{!59}
!59 = distinct !{!59, !57}
!60 = distinct !{!60, !3, !2}
!61 = distinct !{!61, !18}
!62 = distinct !{!62, !3, !2}
!63 = distinct !{!63, !18}
!64 = distinct !{!64, !3}
!65 = distinct !{!65, !18}
!66 = distinct !{!66, !3}
!67 = distinct !{!67, !3, !2}
!68 = distinct !{!68, !18}
!69 = !{!70}
!70 = distinct !{!70, !71, !"pramana.rework.12: %retptr"}
!71 = distinct !{!71, !"pramana.rework.12"}
!72 = !{!73}
!73 = distinct !{!73, !74, !"pramana.rework.13: %retptr"}
!74 = distinct !{!74, !"pramana.rework.13"}
!75 = !{!76}
!76 = distinct !{!76, !77, !"pramana.rework.13: %retptr"}
!77 = distinct !{!77, !"pramana.rework.13"}
!78 = !{!"branch_weights", i32 1, i32 49, i32 49}
!79 = !{!80}
!80 = distinct !{!80, !81, !"pramana.rework.14: %retptr"}
!81 = distinct !{!81, !"pramana.rework.14"}
!82 = !{!83}
!83 = distinct !{!83, !84, !"pramana.rework.14: %retptr"}
!84 = distinct !{!84, !"pramana.rework.14"}
!85 = !{!86}
!86 = distinct !{!86, !87, !"pramana.rework.13: %retptr"}
!87 = distinct !{!87, !"pramana.rework.13"}
!88 = !{!89}
!89 = distinct !{!89, !90, !"pramana.rework.13: %retptr"}
!90 = distinct !{!90, !"pramana.rework.13"}
!91 = distinct !{!91, !3}
!92 = !{!93}
!93 = distinct !{!93, !94}
!94 = distinct !{!94, !"LVerDomain"}
!95 = !{!96}
!96 = distinct !{!96, !94}
!97 = distinct !{!97, !3, !2}
!98 = distinct !{!98, !18}
!99 = !{!100}
!100 = distinct !{!100, !101}
!101 = distinct !{!101, !"LVerDomain"}
!102 = !{!103, !104}
!103 = distinct !{!103, !101}
!104 = distinct !{!104, !101}
!105 = !{!104}
!106 = !{!103}
!107 = distinct !{!107, !3, !2}
!108 = distinct !{!108, !3}
